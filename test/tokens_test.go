package test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
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

// stay holds the key for a while.
func (v *visitors) stay(t *testing.T, l *distlock.Locker, o distlock.Opts, d time.Duration) {
	s := testkit.MustAcquire(t, l, "k", o)
	begin := v.tick()
	time.Sleep(d)
	end := v.tick()
	wantIs(t, s.Release(t.Context()))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen = append(v.seen, visitor{s.Token(), o.Mode == distlock.Exclusive && o.Permits == 0, begin, end})
}

// All tokens are different. The token of an exclusive lease is larger than the token of
// every lease before it and smaller than the token of every lease after it, whichever
// processes have the leases, and whether the store grants them or they are handed over.
func TestTokensOrderThoseWhoExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LimitTokens(9)
		var v visitors
		var all sync.WaitGroup
		var lockers []*distlock.Locker
		for range 3 {
			l := distlock.New(s, distlock.Config{})
			lockers = append(lockers, l)
			for range 10 {
				all.Go(func() {
					for range 30 {
						v.stay(t, l, []distlock.Opts{reading, reading, permit, permit, writing}[rand.N(5)], rand.N(5*time.Millisecond))
					}
				})
			}
		}
		all.Wait()
		for _, l := range lockers {
			wantIs(t, l.Close())
		}
		for i, a := range v.seen {
			for j, b := range v.seen {
				switch {
				case i != j && a.token == b.token:
					t.Fatalf("token %d twice", a.token)
				case a.end < b.begin && (a.alone || b.alone) && a.token > b.token:
					t.Fatalf("token %d after %d", b.token, a.token)
				}
			}
		}
	})
}

// Among readers the order of the tokens has no meaning: a reader that shares a lease
// has a token of a block that may be older than a lease of another process that has
// ended. Relative to the writers before and after them, the tokens are still in order.
func TestTokensOfReadersInTwoProcesses(t *testing.T) {
	for name, o := range map[string]distlock.Opts{"readers": reading, "permits": permit} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				other := testkit.NewLocker(t, s, distlock.Config{})
				take := func(l *distlock.Locker, o distlock.Opts) *distlock.Lease { return testkit.MustAcquire(t, l, "k", o) }
				before := take(other, writing)
				wantIs(t, before.Release(t.Context()))
				first := take(l, o)
				elsewhere := take(other, o)
				wantIs(t, elsewhere.Release(t.Context()))
				third, fourth := take(l, o), take(l, o)
				next := inBackground(t, l, o) // with permits it waits for a hand-over of the first
				wantIs(t, first.Release(t.Context()))
				last := mustGet(t, next)
				after := inBackground(t, other, writing)
				for _, lease := range []*distlock.Lease{third, fourth, last} {
					wantIs(t, lease.Release(t.Context()))
				}
				w := mustGet(t, after)
				seen := map[uint64]bool{}
				for _, lease := range []*distlock.Lease{first, elsewhere, third, fourth, last} {
					if lease.Token() <= before.Token() || lease.Token() >= w.Token() || seen[lease.Token()] {
						t.Errorf("token %d, between writers with %d and %d; earlier ones %v", lease.Token(), before.Token(), w.Token(), seen)
					}
					seen[lease.Token()] = true
				}
				if last.Token() > elsewhere.Token() {
					t.Error("the last has asked the store: nothing is handed over any more")
				}
				wantIs(t, w.Release(t.Context()))
			})
		})
	}
}
