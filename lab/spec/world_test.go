package spec

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const (
	key       = "k"
	lease     = 10 * time.Second
	claim     = 5 * time.Second
	safeLease = 9898 * time.Millisecond // less 1 % and 2 ms
	safeClaim = 4948 * time.Millisecond
	retry     = 20 * time.Millisecond
)

// world replays one history after the other: a store, and the processes of the history.
type world struct {
	store *store
	procs map[int]*process
	seen  map[string]int // steps and events by name
	replayed
}

// replayed is what belongs to one history.
type replayed struct {
	rest   History           // from the state before the step on
	sent   map[Request]*call // by kind and owner
	owners map[int]string
	tokens map[int]uint64 // of the code, by those of the specification
	wrote  uint64         // the largest token that the resource has seen
	ahead  *turn
	err    error
}

// turn is a grant of memlock that the specification makes later. When a lease ends, memlock
// grants the key to the first waiter for the time of a claim. The specification does that
// when the next request comes.
type turn struct{ owner, end int }

func newWorld(t *testing.T, open func() locks) *world {
	t.Helper()
	w := &world{store: &store{machine: newMachine(t), open: open}, procs: make(map[int]*process), seen: make(map[string]int)}
	for c := 1; c <= 2; c++ {
		w.procs[c] = &process{machine: newMachine(t)}
	}
	return w
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }
func us(n int) time.Duration { return time.Duration(n) * time.Microsecond }

// must records the first difference from the history.
func (w *world) must(ok bool, format string, args ...any) {
	if !ok && w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

// begin implements [walker].
func (w *world) begin(History) {
	w.replayed = replayed{sent: make(map[Request]*call), owners: make(map[int]string), tokens: make(map[int]uint64)}
	w.store.boot()
	for _, p := range w.procs {
		p.boot()
		p.do(func() { p.start = time.Now() })
		p.behind = 0
	}
}

// end implements [walker].
func (w *world) end() {
	w.store.do(w.store.stop)
	for _, p := range w.procs {
		p.shutDown()
		p.closers = nil
	}
}

// step implements [walker].
func (w *world) step(rest History) (parted bool, err error) {
	before, s := rest[0], rest[1]
	if w.rest = rest; w.parts(before, s) {
		return true, nil
	}
	w.seen[s.What]++
	w.act(before, s)
	for c, p := range w.procs {
		if w.err == nil {
			w.settle(p, c, before.Procs[c], s.Procs[c])
		}
	}
	w.compare(s)
	return false, w.err
}

// parts reports whether memlock and the specification part ways in a step, see turn.
func (w *world) parts(before, s Step) bool {
	if s.What == "time" && before.Store.Holder != 0 && s.Store.Holder == 0 && len(s.Store.Queue) > 0 && w.ahead == nil {
		w.ahead = &turn{s.Store.Queue[0], before.Store.End + int(claim.Milliseconds())}
	}
	var r Request // that the store gets
	if r.Kind, r.Owner = before.Procs[s.Proc].RPC, before.Procs[s.Proc].Owner; s.Arrived != nil {
		r = *s.Arrived
	}
	why := ""
	switch a := w.ahead; {
	case a == nil:
	case a.end <= s.Now:
		why = "parted: a waiter did not come for the key"
	case r.Kind == "renew" && r.Owner == a.owner && before.Store.Holder == 0:
		why = "parted: a waiter whose turn it is renews an older lease"
	}
	if why != "" {
		w.seen[why]++
	}
	return why != ""
}

// act does what the history says.
func (w *world) act(before, s Step) {
	p, was, is := w.procs[s.Proc], before.Procs[s.Proc], s.Procs[s.Proc]
	switch s.What {
	case "begins":
		p.hold = p.acquire()
	case "asks", "renews", "releases":
		w.send(p, is)
	case "is answered":
		c := p.waiting()
		a := w.store.deliver(c)
		w.must(was.RPC == "release" || (a.err == nil) == (is.Answer == "yes"), "the store answers %v, want %s", a.err, is.Answer)
		c.got = a
	case "hears":
		w.hear(p, was, is)
	case "is told":
		w.told(p, is)
	case "hands over":
		w.handOver(p, is)
	case "writes":
		token := p.lease.Token()
		w.must((token >= w.wrote) == (was.Tok >= before.Wrote), "a write with token %d, after %d", token, w.wrote)
		w.wrote = max(w.wrote, token)
	case "wakes up":
		p.catchUp()
	case "crashes":
		p.crash()
	case "late":
		if r := *s.Arrived; r.Kind == "try" && slices.Contains(before.Store.Gone, r.Owner) {
			w.seen["lost: a late attempt after its release, which memlock does not refuse"]++
		} else {
			w.store.deliver(w.sent[Request{Kind: r.Kind, Owner: r.Owner}])
		}
	case "time":
		w.store.do(func() { time.Sleep(ms(s.Now - before.Now)) })
		for c, p := range w.procs {
			if p.behind += us(s.Procs[c].Clock - before.Procs[c].Clock); !s.Procs[c].Paused {
				p.catchUp()
			}
		}
	case "gives up", "ends", "hears nothing", "misses the message", "pauses": // settle sees what it leads to
	default:
		w.must(false, "an unknown step")
	}
}

// send lets the Locker's request go.
func (w *world) send(p *process, is Process) {
	if is.RPC == "renew" {
		p.refresh()
	}
	c := p.waiting()
	if w.must(c != nil && c.kind == is.RPC, "the Locker sends %+v, want %s", c, is.RPC); w.err != nil {
		return
	}
	p.do(func() { c.sent = time.Now() })
	p.resting = false
	owner := c.request.Owner + c.grant.Owner
	for known, o := range w.owners {
		w.must((known == is.Owner) == (o == owner), "owner %d is %s", is.Owner, owner)
	}
	w.owners[is.Owner] = owner
	w.sent[Request{Kind: is.RPC, Owner: is.Owner}] = c
}

// hear lets the Locker have the answer.
func (w *world) hear(p *process, was, is Process) {
	c := p.waiting()
	a := c.got
	switch {
	case was.RPC == "try" && was.Answer == "no":
		p.claim = c.sent.Add(safeClaim)
		return
	case was.RPC == "try":
		a.grant.Sent, p.others = c.sent, a.grant.Contended
		p.enough = safeLease / 2
	case was.RPC == "renew" && a.err == nil:
		p.enough = safeLease / 2
	}
	p.do(func() { p.reply(a) })
	if is.Phase == "holding" && was.Phase == "trying" {
		w.took(p.hold, is)
	} else if was.Phase == "trying" {
		w.must(p.lease == nil, "Acquire has a lease that came too late")
	}
}

// told lets the Locker have the grant of a message, unless the message is out of date.
func (w *world) told(p *process, is Process) {
	if is.Phase != "holding" {
		return
	}
	g, ok := w.store.granted[w.owners[is.Owner]]
	if w.must(p.waiting() != nil, "the Locker does not wait"); w.err != nil {
		return
	}
	w.must(ok, "there is no message")
	p.do(func() {
		g.Sent, g.TTL, g.Until = time.Now(), lease, p.claim
		p.enough, p.others = g.Until.Sub(g.Sent)/2, g.Contended
		p.reply(answer{grant: g})
	})
	w.took(p.hold, is)
}

// took checks the token of a new holder: tokens have the order of the specification.
func (w *world) took(h *hold, is Process) {
	if w.must(h.lease != nil, "Acquire has no lease"); h.lease == nil {
		return
	}
	token := h.lease.Token()
	for known, other := range w.tokens {
		w.must(known < is.Tok == (other < token) && known > is.Tok == (other > token), "token %d is %d, and token %d was %d", is.Tok, token, known, other)
	}
	w.tokens[is.Tok] = token
}

// handOver lets another holder in the process have the lease.
func (w *world) handOver(p *process, is Process) {
	p.catchUp()
	left := time.Duration(0)
	p.do(func() { left = time.Until(p.lease.Until()) })
	if left < p.enough {
		w.seen["declined: a hand-over when less than half of the lease is left"]++
		return
	}
	if p.others {
		w.seen["declined: a hand-over to one who came after another process"]++
		return
	}
	next := p.acquire()
	p.release()
	w.must(p.finished, "the holder before waits for the store")
	w.took(next, is)
	next.enough, p.hold = p.enough, next
}

// settle does what follows from a step for a process: what it has waited for is lost, or its
// lease is over.
func (w *world) settle(p *process, c int, was, is Process) {
	s := w.rest[1]
	if was.RPC != "" && is.RPC == "" && p.waiting() != nil && (s.What != "hears" || s.Proc != c) {
		if was.RPC == "renew" || was.Phase == is.Phase && w.pauses(p, c, is) {
			p.do(func() { p.reply(nothing) })
		}
	}
	if is.Phase != "leaving" || was.Phase == "leaving" {
		return
	}
	if p.lease == nil {
		p.since = is.Clock
		p.do(p.cancel)
		return
	}
	p.do(func() { w.must(s.What == "ends" || p.lease.Context().Err() != nil, "the context of the lease goes on") })
	p.release()
}

// pauses reports whether the Locker is told that it has no answer: if it asks again before
// the history does. Otherwise the same call goes on, as in a client that repeats requests by
// itself.
func (w *world) pauses(p *process, c int, is Process) bool {
	gap := -1 // until the history needs the Locker
	for _, s := range w.rest[2:] {
		if s.Proc == c && s.What != "misses the message" {
			if slices.Contains([]string{"asks", "is told", "releases"}, s.What) {
				gap = s.Procs[c].Clock - is.Clock
			}
			break
		}
	}
	switch {
	case is.Phase == "trying":
		p.resting = gap < 0 || us(gap) > 2*retry
	case p.lease != nil && !p.finished: // in the background it asks at once
		p.since = is.Clock
		return true
	default:
		p.resting = us(gap) > 200*time.Millisecond && us(is.Clock-p.since+gap) < lease
	}
	return p.resting
}

// compare looks for differences between the code and the state after the step.
func (w *world) compare(s Step) {
	holder, end, queue := s.Store.Holder, s.Store.End, s.Store.Queue
	switch a := w.ahead; {
	case a == nil:
	case holder == 0 && len(queue) > 0 && queue[0] == a.owner:
		holder, end, queue = a.owner, a.end, queue[1:]
	case holder == a.owner && ms(end-s.Now) <= claim:
		end = a.end
	default:
		w.ahead = nil
	}
	got, info := w.store.state(s.Now)
	if info.Held > 0 && info.Holders[0].ExpiresIn == ms(end+1-s.Now) {
		end++ // the waiter came by itself, which is 2 ms after its last attempt at the earliest
	}
	want := "free"
	if holder != 0 {
		want = fmt.Sprintf("%s until %d", driver.Fingerprint(w.owners[holder]), end)
	}
	for _, o := range queue {
		want += ", " + driver.Fingerprint(w.owners[o])
	}
	w.must(info.Held <= 1 && got == want, "the store has %s, want %s", got, want)
	for c, p := range w.procs {
		if q := s.Procs[c]; !q.Paused {
			p.do(func() { w.compareProcess(p, q, info) })
		}
	}
}

func (w *world) compareProcess(p *process, q Process, store driver.KeyInfo) {
	w.must(time.Since(p.start) == us(q.Clock), "its clock shows %v, want %v", time.Since(p.start), us(q.Clock))
	kind := ""
	if c := p.waiting(); c != nil {
		kind = c.kind
	}
	waits := map[string]string{"trying": "try", "holding": q.RPC, "leaving": "release"}[q.Phase]
	w.must(kind == waits || p.resting && kind == "", "%s: the Locker waits for %q, want %q", q.Phase, kind, waits)
	valid := p.lease != nil && p.lease.Check() == nil && p.lease.Context().Err() == nil
	w.must(valid == (q.Phase == "holding"), "%s: the lease is valid: %t", q.Phase, valid)
	w.must(p.returned == (p.lease != nil || q.Phase == "leaving" || q.Phase == "idle"), "%s: Acquire has returned: %t", q.Phase, p.returned)
	w.must(q.Phase != "idle" || p.lease == nil || p.finished, "Release has not returned")
	if valid {
		until := p.lease.Until().Sub(p.start)
		w.must(until == us(q.Deadline), "the lease ends at %v, want %v", until, us(q.Deadline))
		w.must(store.Held == 0 || store.Holders[0].Owner == driver.Fingerprint(w.owners[q.Owner]), "P2: another has the key")
	}
}
