package locktest

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// room is what a lock protects. It fails the test if visits overlap that must not, and if an
// exclusive visit has a token that is not larger than all before.
type room struct {
	mu     sync.Mutex
	inside int
	has    driver.Sharing // of the last visit
	visits int
	token  uint64 // the largest
}

// visit enters the room for a while, with a fencing token or 0.
func (r *room) visit(t testing.TB, s driver.Sharing, token uint64, stay time.Duration) {
	t.Helper()
	r.mu.Lock()
	if !r.has.Admits(r.inside, s) {
		t.Errorf("a visit with %+v beside %d with %+v", s, r.inside, r.has)
	}
	if token != 0 && token <= r.token && s == (driver.Sharing{}) {
		t.Errorf("token %d after token %d", token, r.token)
	}
	r.inside++
	r.has, r.token = s, max(r.token, token)
	r.visits++
	r.mu.Unlock()

	time.Sleep(stay)

	r.mu.Lock()
	r.inside--
	r.mu.Unlock()
}

// locker returns a Locker of this process, with the backend b, which it closes at the end of
// the case.
func locker(p *process, b driver.Backend, cfg distlock.Config) *distlock.Locker {
	p.Helper()
	l := distlock.New(b, cfg)
	if c, ok := b.(io.Closer); ok {
		p.closed[c] = true
	}
	p.Cleanup(func() {
		if err := l.Close(); err != nil {
			p.Errorf("Close: %v", err)
		}
	})
	return l
}

// crowd makes many goroutines, of two processes if there are two, take turns in a room under
// one key, with each sharing of it in turn. With little time for hand-overs the key often goes
// from one process to the other.
func crowd(p *process, sharings ...driver.Sharing) {
	p.Helper()
	const goroutines, rounds = 60, 3
	cfg := distlock.Config{HandOverTime: time.Millisecond}
	lockers := []*distlock.Locker{locker(p, p.backend, cfg)}
	if p.Peer != nil {
		lockers = append(lockers, locker(p, p.peer().backend, cfg))
	}
	key := p.key()
	var r room
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for round := range rounds {
				s := sharings[(i/2+round)%len(sharings)]
				// The interval is short for backends that are not a Queuer.
				o := distlock.Opts{KeyTimeout: long, RetryInterval: max(p.Lease/50, time.Millisecond), Mode: s.Mode, Permits: s.Permits}
				err := lockers[i%len(lockers)].Do(p.Context(), key, o, func(ctx context.Context) error {
					lease, _ := distlock.FromContext(ctx)
					r.visit(p, s, lease.Token(), p.tick())
					return lease.Check()
				})
				if err != nil {
					p.Errorf("Do: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if r.visits != goroutines*rounds {
		p.Errorf("%d visits, and %d were counted", goroutines*rounds, r.visits)
	}
	p.release(p.seize(p.request(key, long), 0)) // a Locker may release in the background
}

// lockerCases are about a Locker with the backend: what the users of the backend get.
var lockerCases = []testCase{
	{
		name: "crowd",
		explanation: "Many goroutines of two processes that use a key must all be served, one at a time, " +
			"with tokens that rise in the order of the grants.",
		run: func(p *process) { crowd(p, driver.Sharing{}) },
	},
	{
		name: "loss-is-told",
		explanation: "If the store has forgotten the holder and granted the key to another owner, the next renewal cancels the context of the function " +
			"with cause ErrLost. Release reports ErrLost, and the new holder keeps the key.",
		needs: []need{needsDrop},
		run: func(p *process) {
			key := p.key()
			o := distlock.Opts{KeyTimeout: 2 * p.Lease}
			s, err := locker(p, p.backend, distlock.Config{}).Acquire(p.Context(), key, o)
			if err != nil {
				p.Fatalf("Acquire of a free key: %v", err)
			}
			p.Cleanup(func() { _ = s.Release(context.WithoutCancel(p.Context())) })
			p.Drop(p.T, p.backend, key)
			g := p.try(p.request(key, long))
			select {
			case <-s.Context().Done():
			case <-time.After(o.KeyTimeout + p.soon()):
				p.Fatal("the context of a lost lease has not ended")
			}
			p.mustBeLost(context.Cause(s.Context()))
			p.mustBeLost(s.Check())
			p.mustBeLost(s.Refresh(p.Context()))
			p.mustBeLost(s.Release(p.Context()))
			p.busy(p.request(key, long))
			mustReport(p, renewAll(p, g), nil)
			p.release(g)
		},
	},
}
