package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisStore is a Redis server in the place of the store of a history: the scripts of redislock
// decide.
type redisStore struct {
	*redis.Client
	t     *testing.T
	pass  func(time.Duration)        // the clock of the server goes on
	edit  func(source string) string // changes scripts
	plain bool                       // requests begin with plain commands if the driver sends any
	late  time.Duration              // how long after its end the server still has a lease

	processes map[int]*recorder
	heard     func() []string // the messages since the last call
	seen      map[string]int  // what requests did

	// Of a history.
	number  int   // how many histories there were
	began   int64 // the time of the server when it is 0 in the history
	process map[int]int
	sent    map[Request]message
	replica func() // takes the place of the server's data
	highest int64  // token that was granted
}

func newRedisStore(t *testing.T, client *redis.Client, late time.Duration, pass func(time.Duration)) *redisStore {
	t.Helper()
	s := &redisStore{
		Client: client, t: t, late: late, pass: pass, edit: func(source string) string { return source },
		processes: map[int]*recorder{1: newRecorder(t, late), 2: newRecorder(t, late)},
		seen:      map[string]int{},
	}
	sub := s.PSubscribe(t.Context(), "distlock:inbox:*")
	t.Cleanup(func() { _ = sub.Close() })
	_, err := sub.Receive(t.Context())
	must(t, err)
	messages := sub.Channel(redis.WithChannelHealthCheckInterval(0))
	s.heard = func() (all []string) {
		s.Publish(t.Context(), "distlock:inbox:end", "")
		for m := range messages {
			if m.Channel == "distlock:inbox:end" {
				break
			}
			all = append(all, m.Channel+" "+m.Payload)
		}
		return all
	}
	return s
}

// begin implements [walker].
func (s *redisStore) begin(h History) {
	s.t.Helper()
	must(s.t, s.FlushAll(s.t.Context()).Err())
	s.number++
	s.process, s.sent = map[int]int{}, map[Request]message{}
	s.replica, s.highest = s.snapshot(), 0
	s.began = s.Time(s.t.Context()).Val().UnixMicro() - int64(h[0].Now)*1000
}

// end implements [walker].
func (*redisStore) end() {}

// step implements [walker].
func (s *redisStore) step(rest History) (parted bool, err error) {
	s.t.Helper()
	if err = s.act(rest); err == nil {
		err = s.compare(&rest[1])
	}
	if err != nil {
		err = fmt.Errorf("%w\nthe store was %+v, should be %+v, and is %+v", err, rest[0].Store, rest[1].Store, s.read())
	}
	return false, err
}

// act does what the history says.
func (s *redisStore) act(rest History) error {
	s.t.Helper()
	before, step := &rest[0].State, &rest[1]
	for c, p := range step.Procs {
		s.process[p.Owner] = c
	}
	p := before.Procs[step.Proc]
	switch step.What {
	case "time":
		s.Persist(s.t.Context(), queueKey) // its waiters ask three times a minute, which the specification leaves out
		s.pass(time.Duration(step.Now-before.Now) * time.Millisecond)
		if before.Store.Holder != 0 && step.Store.Holder == 0 {
			s.seen["a lease ends"]++
		}
	case "replicates":
		s.replica = s.snapshot()
	case "fails over":
		s.replica()
		s.seen["a replica takes over"]++
	case "late":
		return s.serve(*step.Arrived, true, before, step)
	case "is answered":
		q := Request{Kind: p.RPC, Owner: p.Owner, Doubt: p.Doubt, Acq: p.Acq}
		return s.serve(q, q.Kind == "try" && unheard(rest[1:], step.Proc), before, step)
	}
	return nil
}

// unheard reports whether the answer to the process is lost.
func unheard(rest History, proc int) bool {
	i := slices.IndexFunc(rest, func(s Step) bool { return s.Procs[proc].Answer == "" })
	return i >= 0 && rest[i].What != "hears"
}

// data is what the server has.
type data struct {
	Data

	now   int
	value string // of the lock
}

// read reads the data of the server.
func (s *redisStore) read() (d data) {
	s.t.Helper()
	ctx := s.t.Context()
	pipe := s.Pipeline()
	now, lock, left := pipe.Time(ctx), pipe.Get(ctx, lockKey), pipe.PTTL(ctx, lockKey)
	queue, gone := pipe.ZRange(ctx, queueKey, 0, -1), pipe.ZRange(ctx, goneKey, 0, -1)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
	us := now.Val().UnixMicro() - s.began
	d.now = int(us / 1000)
	if us%1000 != 0 {
		s.t.Fatalf("the clock of the server is at %d µs", us)
	}
	for _, entry := range queue.Val() {
		d.Queue = append(d.Queue, ownerOf(entry))
	}
	for _, name := range gone.Val() {
		d.Gone = append(d.Gone, ownerOf(name))
	}
	d.value = lock.Val()
	owner, token, _ := strings.Cut(d.value, " ")
	o := ownerOf(owner)
	// What a plain attempt takes after the release of its owner, nobody has: the next script
	// deletes it.
	if nobody := strings.HasPrefix(token, "~") && slices.Contains(d.Gone, o); o != 0 && !nobody {
		d.Holder, d.End = o, d.now+int((left.Val()+s.late).Milliseconds())
	}
	return d
}

// compare compares the data of the server with those of the specification.
func (s *redisStore) compare(step *Step) error {
	s.t.Helper()
	got, want := s.read(), step.Store
	slices.Sort(got.Gone)
	slices.Sort(want.Gone)
	switch {
	case got.now != step.Now:
		s.t.Fatalf("the clock of the server is at %d, want %d", got.now, step.Now)
	case got.Holder != want.Holder:
		return fmt.Errorf("the holder is %d, want %d", got.Holder, want.Holder)
	case got.End != want.End:
		return fmt.Errorf("the lease ends at %d, want %d", got.End, want.End)
	case !slices.Equal(got.Queue, want.Queue):
		return fmt.Errorf("the queue is %v, want %v", got.Queue, want.Queue)
	case !slices.Equal(got.Gone, want.Gone):
		return fmt.Errorf("the tombstones are of %v, want %v", got.Gone, want.Gone)
	}
	return nil
}

// snapshot returns a function that makes the data of the server what they are now. Leases
// end when they would have ended.
func (s *redisStore) snapshot() (restore func()) {
	s.t.Helper()
	ctx := s.t.Context()
	now := s.Time(ctx).Val()
	var copies []func(redis.Pipeliner, time.Duration)
	for _, key := range []string{lockKey, queueKey, goneKey, clockKey} {
		left, value, members := s.PTTL(ctx, key).Val(), s.Get(ctx, key).Val(), s.ZRangeWithScores(ctx, key, 0, -1).Val()
		copies = append(copies, func(pipe redis.Pipeliner, passed time.Duration) {
			if value != "" {
				pipe.Set(ctx, key, value, 0)
			} else if len(members) > 0 {
				pipe.ZAdd(ctx, key, members...)
			}
			if left >= 0 {
				pipe.PExpire(ctx, key, left-passed+s.late) // at once, if it is not positive
			}
		})
	}
	return func() {
		s.t.Helper()
		pipe := s.TxPipeline()
		pipe.Del(ctx, lockKey, queueKey, goneKey, clockKey)
		passed := s.Time(ctx).Val().Sub(now)
		for _, c := range copies {
			c(pipe, passed)
		}
		s.pass(-s.late)
		_, err := pipe.Exec(ctx)
		must(s.t, err)
		s.pass(s.late)
	}
}

// serve delivers a request, and compares the reply and the messages to waiters.
func (s *redisStore) serve(q Request, again bool, before *State, step *Step) error {
	s.t.Helper()
	held := s.read().value
	line, plain := s.deliver(q, again)
	messages := s.heard()

	was, is, late := &before.Store, &step.Store, int(s.late.Milliseconds())
	granted := is.Tok != was.Tok
	own := granted && is.Holder == q.Owner
	what, want := outcome(q, was, is)
	s.count(what, step, granted && !own, plain)
	answer, rest, _ := strings.Cut(line, " ")
	left, _, _ := strings.Cut(rest, " ")
	p := step.Procs[step.Proc]
	switch {
	case answer != want:
		return fmt.Errorf("the reply is %q, want %s: %d %s", line, want, q.Owner, what)
	case step.What == "is answered" && q.Kind != "release" && (p.Answer == "yes") != (answer == "1"):
		return fmt.Errorf("the reply is %q, want %s", line, p.Answer)
	case what == "waits" && left != strconv.Itoa(is.End-step.Now-late):
		return fmt.Errorf("the reply is %q, but the lease ends in %d ms", line, is.End-step.Now)
	case granted && !own:
		begin := fmt.Sprintf("distlock:inbox:%s %s %d ", s.inbox(is.Holder), s.name(is.Holder), int(claim.Milliseconds())-late)
		if len(messages) != 1 || !strings.HasPrefix(messages[0], begin) {
			return fmt.Errorf("the messages are %q, want one with %q", messages, begin)
		}
		return s.tokens(messages[0][len(begin):], step, false)
	case len(messages) > 0:
		return fmt.Errorf("the messages are %q, want none", messages)
	case own, what == "extends" && strings.Contains(held, "~"): // a plain attempt was repeated as a script
		return s.tokens(rest, step, plain)
	case what == "extends" && !strings.Contains(line, strings.TrimPrefix(held, s.name(q.Owner))+" "):
		return fmt.Errorf("the reply is %q, but the lock was %q", line, held)
	}
	return nil
}

// outcome says what a request does in the specification, and how the reply begins.
func outcome(q Request, was, is *Data) (what, reply string) {
	switch {
	case q.Kind == "try" && slices.Contains(was.Gone, q.Owner):
		return "is refused for ever", "-GONE"
	case q.Kind == "try" && was.Holder == q.Owner:
		return "extends", "1"
	case q.Kind == "try" && is.Holder == q.Owner:
		return "is granted", "1"
	case q.Kind == "try":
		return "waits", "0"
	case q.Kind == "renew" && was.Holder == q.Owner:
		return "renews", "1"
	case q.Kind == "renew":
		return "does not renew", "0"
	case was.Holder == q.Owner:
		return "releases", "1"
	case q.Doubt && slices.Contains(was.Gone, q.Owner):
		return "releases again", "1"
	case was.Holder == 0:
		return "has nothing to release", "2"
	default:
		return "leaves", "0"
	}
}

// count counts what a request does.
func (s *redisStore) count(what string, step *Step, passedOn, plain bool) {
	if passedOn {
		what += ", and the next is granted"
	}
	if plain {
		what += ", plainly"
	}
	if step.What == "late" {
		what += ", late"
	}
	s.seen[what]++
}

// tokens checks the tokens of a grant: the last token that was issued before, the last one of
// the grant, and whether others wait.
func (s *redisStore) tokens(text string, step *Step, plain bool) error {
	s.t.Helper()
	var before, last int64
	var others int
	if n, err := fmt.Sscanf(text, "%d %d %d", &before, &last, &others); n != 3 || len(text) != 35 && !plain {
		return fmt.Errorf("%q are no tokens: %w", text, err)
	}
	first := max(before+1, last-1) // as the driver counts, for two tokens
	highest, d := s.highest, s.read()
	s.highest = last
	switch value := fmt.Sprintf("%s %016d", s.name(step.Store.Holder), last); {
	case first <= highest || first > last:
		return fmt.Errorf("the tokens are %d to %d after %d", first, last, highest)
	case (others == 1) != (len(step.Store.Queue) > 0):
		return fmt.Errorf("%q, but %v wait", text, step.Store.Queue)
	case plain:
		return nil // the value has the token of another grant
	case d.value != value:
		return fmt.Errorf("the lock is %q, want %q", d.value, value)
	case step.Store.Last == step.Now && (last-s.began)/1000 != int64(step.Now):
		return fmt.Errorf("the token is %d, want the time %d", last-s.began, step.Now*1000)
	}
	return nil
}

// deliver sends a request, and returns the line of the reply. The driver sends plain commands
// without an answer again, as a script.
func (s *redisStore) deliver(q Request, again bool) (line string, plain bool) {
	s.t.Helper()
	m, made := s.sent[q]
	if !made {
		m = s.processes[s.process[q.Owner]].message(s.t, q.Kind, s.name(q.Owner), q.Doubt, s.plain)
		s.sent[q] = m
	}
	if len(m.plain) > 0 {
		line = s.sendPlain(m.plain)
	}
	if line != "" && !again {
		return line, true
	}
	return s.script(m.script), false
}

// script runs a script.
func (s *redisStore) script(args []any) string {
	s.t.Helper()
	args = slices.Clone(args)
	args[1] = s.edit(args[1].(string))
	line, err := s.Do(s.t.Context(), args...).Text()
	must(s.t, err)
	return line
}

// sendPlain sends plain commands. It returns the line that a script would answer, or "" if they
// leave the decision to the script.
func (s *redisStore) sendPlain(cmds [][]any) string {
	s.t.Helper()
	// The driver sends them only if it knows that the clock is not behind: of a grant of
	// another key.
	ctx := s.t.Context()
	now := fmt.Sprintf("%016d", s.Time(ctx).Val().UnixMicro())
	if issued := s.Get(ctx, clockKey).Val(); issued < now {
		must(s.t, s.Set(ctx, clockKey, now, 0).Err())
	}
	pipe := s.Pipeline()
	set, issue, others := pipe.Do(ctx, cmds[0]...), pipe.Do(ctx, cmds[1]...), pipe.Do(ctx, cmds[2]...)
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
	if last, _ := issue.Int64(); set.Err() == nil && others.Val() == int64(0) {
		return fmt.Sprintf("1 %d %d 0", last-2, last)
	}
	return ""
}

// inbox returns the inbox of the owner's process, as its first attempt says.
func (s *redisStore) inbox(owner int) string {
	for q, m := range s.sent {
		if q.Kind == "try" && s.process[q.Owner] == s.process[owner] {
			return *m.script[7].(*string)
		}
	}
	return ""
}

// name is the name of an owner of the present history.
func (s *redisStore) name(owner int) string { return fmt.Sprintf("owner-%d-%d", s.number, owner) }

// ownerOf is the reverse. An entry of a queue has an inbox before the name.
func ownerOf(name string) (owner int) {
	owner, _ = strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	return owner
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
