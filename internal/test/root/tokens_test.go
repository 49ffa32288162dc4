package test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// visitor is a lease that was acquired and released.
type visitor struct {
	token      uint64
	alone      bool
	begin, end int // positions in one order of all acquisitions and releases
}

// visitors records the leases of all processes.
type visitors struct {
	mu   sync.Mutex
	now  int
	seen []visitor
}

func (v *visitors) tick() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now++
	return v.now
}

// room counts the holders in one process.
type room struct {
	visitors                  *visitors
	mu                        sync.Mutex
	readers, writers, permits int
}

func (r *room) visit(t *testing.T, l *distlock.Locker) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rand.N(4) == 0 {
		time.AfterFunc(rand.N(20*time.Millisecond), cancel)
	}
	o, count := distlock.Opts{RetryInterval: 5 * time.Millisecond}, &r.writers
	switch rand.N(8) {
	case 0, 1, 2, 3:
		o.Mode, count = distlock.Shared, &r.readers
		o.MaxHold = time.Duration(rand.N(2)) * time.Hour
	case 4, 5:
		o.Permits, count = 3, &r.permits
	}
	o.RetryCount = max(rand.N(6)-3, 0)
	lease, err := l.Acquire(ctx, "k", o)
	if err != nil {
		return
	}
	defer lease.Release(ctx)
	begin := r.visitors.tick()
	r.mu.Lock()
	*count++
	if r.writers > 1 || r.permits > 3 || min(r.writers, 1)+min(r.readers, 1)+min(r.permits, 1) > 1 {
		t.Errorf("%d writers, %d readers and %d permits at once", r.writers, r.readers, r.permits)
	}
	r.mu.Unlock()
	time.Sleep(rand.N(5 * time.Millisecond))
	r.mu.Lock()
	*count--
	r.mu.Unlock()
	end := r.visitors.tick()
	r.visitors.mu.Lock()
	defer r.visitors.mu.Unlock()
	r.visitors.seen = append(r.visitors.seen, visitor{lease.Token(), count == &r.writers, begin, end})
}

// All kinds of locks on one key in three processes, with cancelled waits and lost leases: in
// each process holders that exclude each other never overlap, and nothing is left.
//
// All tokens are different. The token of an exclusive lease is larger than the token of every
// lease before it and smaller than the token of every lease after it, whichever processes have
// the leases, and whether the store grants them or they are handed over.
func TestAllKindsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		abilities testkit.Ability
		losses    int // then a lease may have ended before its begin is recorded
	}{
		"queue": {testkit.Queuing, 0}, "queue, losses": {testkit.Queuing, 5}, "poll": {0, 0}, "poll, losses": {0, 5},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			s.LimitTokens(2 + rand.N(8))
			var v visitors
			var all sync.WaitGroup
			var lockers []*distlock.Locker
			for range 3 {
				l := distlock.New(s.Only(c.abilities), distlock.Config{HandOverTime: 20 * time.Millisecond})
				lockers = append(lockers, l)
				r := room{visitors: &v}
				for range 20 {
					all.Go(func() {
						for range 30 {
							r.visit(t, l)
						}
					})
				}
			}
			for range c.losses {
				time.Sleep(200 * time.Millisecond)
				s.Memory().Drop("k")
			}
			all.Wait()
			for _, l := range lockers {
				wantIs(t, l.Close())
				nothingLeft(t, l, s)
			}
			for i, a := range v.seen {
				for j, b := range v.seen {
					switch {
					case i != j && a.token == b.token:
						t.Fatalf("token %d twice", a.token)
					case c.losses == 0 && a.end < b.begin && (a.alone || b.alone) && a.token > b.token:
						t.Fatalf("token %d after %d", b.token, a.token)
					}
				}
			}
		})
	}
}
