package test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Promise P8: a lost permit is not given to another caller in this process before the
// function has returned.
func TestLostPermitKeepsItsPlace(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		leases := []*distlock.Lease{testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit), testkit.MustAcquire(t, l, "k", permit)}
		s.Memory().Drop("k")
		for _, lease := range leases {
			<-lease.Context().Done()
		}
		next, writer := inBackground(t, l, permit), inBackground(t, l, writing)
		time.Sleep(time.Minute)
		mustWait(t, next)
		for i, lease := range leases {
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost)
			if i == 0 {
				wantIs(t, mustGet(t, next).Release(t.Context()))
			}
			if i < 2 {
				mustWait(t, writer)
			}
		}
		wantIs(t, mustGet(t, writer).Release(t.Context()))
		nothingLeft(t, l, s)
	})
}

// All kinds of locks on one key in three processes, with cancelled waits and lost
// leases: in each process holders that exclude each other never overlap, and nothing is
// left.
func TestAllKindsAtOnce(t *testing.T) {
	for name, wrap := range map[string]func(*testkit.Store) driver.Backend{
		"queue": func(s *testkit.Store) driver.Backend { return s },
		"poll":  func(s *testkit.Store) driver.Backend { return s.Only(0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := testkit.NewStore()
				s.LimitTokens(2 + rand.N(8))
				var all sync.WaitGroup
				var lockers []*distlock.Locker
				for range 3 {
					l := distlock.New(wrap(s), distlock.Config{HandOverTime: 20 * time.Millisecond})
					lockers = append(lockers, l)
					var r room
					for range 20 {
						all.Go(func() {
							for range 30 {
								r.visit(t, l)
							}
						})
					}
				}
				for range 5 {
					time.Sleep(200 * time.Millisecond)
					s.Memory().Drop("k")
				}
				all.Wait()
				for _, l := range lockers {
					wantIs(t, l.Close())
					nothingLeft(t, l, s)
				}
			})
		})
	}
}

// room counts the holders in one process.
type room struct {
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
}
