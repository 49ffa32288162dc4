package sqllock

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

const second = int64(time.Second / time.Microsecond)

// sharings are the small ways of sharing a key.
var sharings = []driver.Sharing{{}, {Mode: driver.Shared}, {Permits: 1}, {Permits: 2}, {Permits: 3}}

func ask(owner string, s driver.Sharing) *driver.Request {
	return &driver.Request{Key: "key", Owner: owner, TTL: 10 * time.Second, Tokens: 1, Mode: s.Mode, Permits: s.Permits}
}

// mustAcquire acquires for a new owner, which must succeed.
func (e *entry) mustAcquire(t *testing.T, owner string, s driver.Sharing) driver.Grant {
	t.Helper()
	g, ok := e.acquire(ask(owner, s))
	if !ok {
		t.Fatalf("%s with %+v is refused", owner, s)
	}
	return g
}

// Where no message comes, a waiter looks after an eighth of its wait, but not too often.
// Where messages come, the first two look some times a second, and the others seldom.
func TestLooksWithoutMessages(t *testing.T) {
	b, e := &Backend{wakes: newWakes(nil)}, &entry{now: second}
	e.mustAcquire(t, "holder", driver.Sharing{})
	for i, owner := range []string{"first", "second", "third"} {
		e.enqueue(ask(owner, driver.Sharing{}))
		b.wakes.works.Store(true)
		least := time.Duration([]int{200, 200, 500}[i]) * time.Millisecond
		if d := b.interval(e, ask(owner, driver.Sharing{}), 0, 0); d < least || d >= 2*least {
			t.Errorf("%s looks after %v, although messages come", owner, d)
		}
		b.wakes.works.Store(false)
		for waited := time.Millisecond; waited < time.Hour; waited *= 2 {
			d := b.interval(e, ask(owner, driver.Sharing{}), 0, waited)
			if d > max(waited/8, time.Millisecond) || d < min(waited/8, 10*time.Millisecond) {
				t.Errorf("%s looks after %v, when it has waited for %v", owner, d, waited)
			}
		}
	}
	for i := range 6000 { // all of them look 2,000 times a second
		b.wakes.waiting[fmt.Sprint(i)] = nil
	}
	if d := b.interval(e, ask("first", driver.Sharing{}), 0, time.Hour); d != 3*time.Second {
		t.Errorf("of many, each looks after %v", d)
	}
}

// A free key is kept for a waiter that does not look for 0.6 s, and for it once. The
// waiter keeps its place for much longer, and loses it in the end.
//
// Row 3 (sqllock): however many waiters have died, a free key is kept for them for 0.6
// s, not more. Fails if each of them takes that time, or takes it again.
func TestEntryOvertakesWhatIsAway(t *testing.T) {
	for _, s := range sharings {
		e := &entry{now: second}
		turn := func(want ...string) {
			t.Helper()
			e.prune()
			if got := e.admitted(); len(got) == 0 || !slices.Equal(got[:1], want) {
				t.Errorf("%+v: the turn is that of %q, want %q", s, got, want)
			}
		}
		e.mustAcquire(t, "holder", s)
		for _, owner := range []string{"dead", "dead, too", "alive", "last"} {
			e.enqueue(ask(owner, driver.Sharing{}))
		}
		e.now += 4 * second
		e.enqueue(ask("alive", driver.Sharing{}))
		e.release("holder")
		e.now += turnLasts - 1
		turn("dead")
		if _, ok := e.acquire(ask("alive", driver.Sharing{})); ok {
			t.Error("the third waiter overtakes the first")
		}
		if at := e.opens(ask("alive", driver.Sharing{})); at != e.now+1 {
			t.Errorf("the key opens in %v", micros(at-e.now))
		}
		e.enqueue(ask("alive", driver.Sharing{})) // it is not the first yet, and it is there
		e.now++
		turn("alive")
		e.patient = true
		if _, ok := e.acquire(ask("alive", driver.Sharing{})); ok {
			t.Error("a waiter that is patient overtakes one that may only be late")
		}
		e.patient = false
		if _, ok := e.acquire(ask("last", driver.Sharing{})); ok {
			t.Error("a waiter overtakes one that is there")
		}
		e.mustAcquire(t, "alive", s)
		e.release("alive")
		turn("last")
		e.enqueue(ask("dead", driver.Sharing{})) // it is back
		turn("dead")
		e.now += deadAfter
		if e.prune(); len(e.members) != 0 {
			t.Errorf("the places %+v last forever", e.members)
		}
	}
}

// The time of the waiters to look begins when the lease of the last reader ends. A permit is
// free when the first of the leases ends, and the key when the last does.
func TestEntryAfterReaders(t *testing.T) {
	e := &entry{now: second}
	e.mustAcquire(t, "first", driver.Sharing{Permits: 2})
	e.now += second
	e.mustAcquire(t, "second", driver.Sharing{Permits: 2})
	if one, all := e.heldError(driver.Sharing{Permits: 2}), e.heldError(driver.Sharing{}); one.RetryAfter != 9*time.Second || all.RetryAfter != 10*time.Second {
		t.Errorf("a permit is free in %v, the key in %v", one.RetryAfter, all.RetryAfter)
	}
	e = &entry{now: second}
	e.mustAcquire(t, "reader", driver.Sharing{Mode: driver.Shared})
	e.now += 7 * second
	e.enqueue(ask("first", driver.Sharing{}))
	e.enqueue(ask("second", driver.Sharing{}))
	e.now += 3*second + turnLasts - 1
	e.prune()
	if _, ok := e.acquire(ask("second", driver.Sharing{})); ok {
		t.Error("the second waiter overtakes the first")
	}
}

// While an exclusive owner has the key, a waiter looks seldom, and counts as there for
// 5 s.
func TestEntryWaitsBehindAnOwner(t *testing.T) {
	e := &entry{now: second}
	e.mustAcquire(t, "holder", driver.Sharing{})
	e.enqueue(ask("first", driver.Sharing{}))
	e.now += awayAfter - 1
	if e.ahead("") != 1 || e.waiting("") != 1 {
		t.Error("a waiter does not count")
	}
	if e.now++; e.ahead("") != 0 || e.waiting("") != 0 {
		t.Error("a waiter counts forever")
	}
}

// Random operations of a few owners, with a clock that jumps. After each, the holders
// admit each other, each has a token of its own, tokens rise, no place is lost, and a
// request was granted exactly if it had no live waiter in front of it that it would
// keep out.
func TestEntryAtRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		e := &entry{now: second}
		var last uint64
		for range 100 {
			e.now += r.Int64N(3) * r.Int64N(6*second)
			e.prune()
			owner := fmt.Sprint("owner", r.IntN(6))
			before := *e
			before.members = slices.Clone(e.members)
			switch r.IntN(5) {
			case 0, 1:
				q := ask(owner, sharings[r.IntN(len(sharings))])
				q.Tokens = 1 + r.IntN(4)
				g, ok := e.acquire(q)
				if ok && (g.Token <= last || g.LastToken != g.Token+uint64(q.Tokens)-1 || g.LastToken < uint64(e.now)) {
					t.Fatalf("tokens %d to %d after %d", g.Token, g.LastToken, last)
				}
				if ok {
					last = g.LastToken
				} else {
					e.enqueue(q)
				}
				m := before.find(owner)
				refused := m != nil && m.isTombstone()
				if held := before.has(owner); ok != (!refused && (held || before.room(owner, q.Sharing()))) {
					t.Fatalf("%s with %+v: %v\n%+v", owner, q.Sharing(), ok, before)
				}
			case 2:
				m := before.find(owner)
				had := before.has(owner) || m != nil && !m.isTombstone()
				if e.release(owner) != had || e.has(owner) || (e.find(owner) == nil) != (had || m == nil) {
					t.Fatalf("release of %s, which had something: %v\n%+v", owner, had, e)
				}
				if r.IntN(3) == 0 {
					e.addTombstone(owner)
				}
			case 3: // a fresh owner, one that has adopted, or one that has given that up
				heir := fmt.Sprint("owner", r.IntN(6))
				m := before.find(heir)
				refused := m != nil && m.isTombstone()
				if heir == owner || m != nil && m.waits() || before.has(heir) && before.has(owner) {
					continue
				}
				ok := e.adopt(&driver.Request{Owner: heir, From: owner, TTL: time.Second})
				if want := !refused && (before.has(owner) || before.has(heir)); ok != want || ok && (!e.has(heir) || e.has(owner)) {
					t.Fatalf("%s adopts from %s: %v\n%+v", heir, owner, ok, before)
				}
				for _, h := range e.holders() {
					if ok && h.owner == heir && h.expires < e.now+second {
						t.Fatalf("%s has adopted what ends after %v\n%+v", heir, micros(h.expires-e.now), e)
					}
				}
				if m := e.find(owner); ok && before.has(owner) && (m == nil || !m.isTombstone()) {
					t.Fatalf("%s can come back after it has handed off\n%+v", owner, e)
				}
			case 4:
				if r.IntN(10) == 0 {
					e.force()
					if n, _ := e.held(); n != 0 || len(e.members) != before.others() {
						t.Fatalf("after ForceRelease: %+v, before %+v", e, before)
					}
				}
			}
			e.mustBeSound(t)
		}
	}
}

func (e *entry) has(owner string) bool {
	return slices.ContainsFunc(e.holders(), func(m member) bool { return m.owner == owner })
}

// others returns how many members do not hold the key.
func (e *entry) others() (n int) {
	for i := range e.members {
		if !e.members[i].holds() {
			n++
		}
	}
	return n
}

// room reports whether all live waiters before the owner, and then the owner, could
// join the holders.
func (e *entry) room(owner string, s driver.Sharing) bool {
	var all []driver.Sharing
	for _, h := range e.holders() {
		all = append(all, h.sharing)
	}
	for _, m := range e.members {
		if m.owner == owner {
			break
		}
		patience := awayAfter
		if e.owner == "" && e.now-e.expires >= turnLasts {
			patience = turnLasts
		}
		if m.waits() && e.now-m.expires < patience {
			all = append(all, m.sharing)
			if n := len(all) - 1; !all[max(n-1, 0)].Admits(n, m.sharing) {
				return false
			}
		}
	}
	n := len(all)
	return n == 0 || all[n-1].Admits(n, s)
}

func (e *entry) mustBeSound(t *testing.T) {
	t.Helper()
	holders := e.holders()
	tokens := make(map[int64]bool)
	for i, h := range holders {
		if tokens[h.token] || h.token > e.token || h.token <= h.prior {
			t.Fatalf("token %d after %d, the last is %d", h.token, h.prior, e.token)
		}
		tokens[h.token] = true
		if i > 0 && h.sharing.Permits == 0 && (h.sharing.Mode != driver.Shared || holders[0].sharing.Mode != driver.Shared) {
			t.Fatalf("holders that exclude each other: %+v", holders)
		}
		if p := h.sharing.Permits; p > 0 && len(holders) > 3 {
			t.Fatalf("%d holders of at most 3 permits", len(holders))
		}
	}
	if !slices.IsSortedFunc(e.members, func(a, b member) int { return int(a.ticket - b.ticket) }) {
		t.Fatalf("not in order: %+v", e.members)
	}
}
