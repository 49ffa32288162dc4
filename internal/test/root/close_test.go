package test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Row 24 (memlock): new work and waiting callers are refused. Fails if the contexts of
// waiting callers are not cancelled.
func TestClose(t *testing.T) {
	bubbleWith(t, distlock.Config{CloseTimeout: 3 * time.Second}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		closed := l
		var all sync.WaitGroup
		all.Go(func() { // returns when its context ends
			wantIs(t, l.Do(t.Context(), "a", distlock.Opts{}, func(ctx context.Context) error {
				<-ctx.Done()
				if cause := context.Cause(ctx); !errors.Is(cause, distlock.ErrClosed) || !errors.Is(cause, distlock.ErrLost) {
					t.Errorf("cause %v", cause)
				}
				if s.Free(t, "a") {
					t.Error("the key was given away while the function ran")
				}
				time.Sleep(time.Second)
				return nil
			}), distlock.ErrLost, distlock.ErrClosed)
		})
		synctest.Wait()
		if _, err := s.Backend.TryAcquire(t.Context(), driver.Request{Key: "b", Owner: "other", TTL: time.Hour, Tokens: 1}); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"a", "b"} { // wait at the gate, and in the store's queue
			for _, o := range []distlock.Opts{{}, {MaxWait: time.Minute}} {
				all.Go(func() {
					wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), key, o)), distlock.ErrClosed)
				})
			}
		}
		synctest.Wait()

		start := time.Now()
		wantIs(t, l.Close())
		wantTook(t, start, time.Second)
		all.Wait()
		mustBeFree(t, s, "a")
		wantIs(t, testkit.ErrorOf(closed.Acquire(t.Context(), "c", distlock.Opts{})), distlock.ErrClosed)
		wantIs(t, l.Close())
		wantCalls(t, s, testkit.Close, 1)
	})
}

// They are not renewed any more, as after any release.
//
// Row 24 (memlock): leases that are not given back are released in the end. Fails if
// that release is left out.
func TestCloseReleasesWhatIsNotGivenBack(t *testing.T) {
	bubbleWith(t, distlock.Config{CloseTimeout: 3 * time.Second}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		var held []*distlock.Lease
		for key, o := range map[string]distlock.Opts{"writer": writing, "readers": reading, "permits": permit} {
			o.KeyTimeout = 2 * time.Second
			held = append(held, testkit.MustAcquire(t, l, key, o))
			if key != "writer" {
				held = append(held, testkit.MustAcquire(t, l, key, o))
			}
		}
		s.Delay(time.Second, testkit.Release) // time for a renewal
		start := time.Now()
		wantIs(t, l.Close())
		wantTook(t, start, 4*time.Second)
		releases := s.Calls(testkit.Release)
		for _, c := range s.Calls(testkit.Renew) {
			for _, r := range releases {
				if c.At.After(r.At) && slices.ContainsFunc(c.Grants, func(g driver.Grant) bool { return g.Owner == r.Owner }) {
					t.Errorf("%s was renewed %v after its release was sent", r.Key, c.At.Sub(r.At))
				}
			}
		}
		if len(releases) != 4 {
			t.Errorf("%d releases", len(releases))
		}
		mustBeFree(t, s, "writer", "readers", "permits")
		for _, lease := range held {
			wantIs(t, lease.Check(), distlock.ErrLost, distlock.ErrClosed)
			wantIs(t, lease.Release(t.Context()), distlock.ErrLost, distlock.ErrClosed)
		}
	})
}

// No lease is held, but the clean-up after failed acquisitions runs in the background:
// a store that refuses does not delay Close, a silent store delays it little. Fails if
// Close waits for clean-up as for holders.
func TestCloseWithNobodyInside(t *testing.T) {
	for name, tc := range map[string]struct {
		before testkit.Hook
		most   time.Duration
	}{
		"refuses": {func(context.Context, *testkit.Call) error { return testkit.ErrBroken }, 0},
		"silent": {func(context.Context, *testkit.Call) error {
			time.Sleep(releaseTimeout)
			return testkit.ErrBroken
		}, cleanupTimeout},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			s.Before(tc.before)
			l := distlock.New(s, distlock.Config{})
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var all sync.WaitGroup
			for _, key := range []string{"a", "b", "c"} {
				all.Go(func() {
					_, err := l.Acquire(ctx, key, distlock.Opts{KeyTimeout: time.Hour})
					if !errors.Is(err, distlock.ErrUnavailable) {
						t.Errorf("error %v", err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Minute + 50*time.Millisecond)
			releases := len(s.Calls(testkit.Release))
			if releases == 0 {
				t.Error("nothing is cleaned up")
			}
			start := time.Now()
			wantIs(t, l.Close())
			if d := time.Since(start); d > tc.most {
				t.Errorf("Close took %v, want at most %v", d, tc.most)
			}
			time.Sleep(2 * releaseTimeout) // until the operation of the silent store has ended
			if name == "refuses" && len(s.Calls(testkit.Release)) != releases+3 {
				t.Errorf("%d last attempts, want one for each key", len(s.Calls(testkit.Release))-releases)
			}
		})
	}
}

// If the store works, clean-up in the background is done before Close returns: while a lease
// is held it is retried, otherwise Close makes a last attempt at once.
func TestCloseCleansUp(t *testing.T) {
	for name, wait := range map[string]time.Duration{"nobody inside": 0, "a holder goes on": 2 * time.Second} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Hour})
			mend := func() { s.Fail(nil) }
			if wait > 0 {
				slow := testkit.MustAcquire(t, l, "slow", distlock.Opts{})
				time.AfterFunc(wait, func() { _ = slow.Release(t.Context()) })
			}
			s.Fail(testkit.ErrBroken, testkit.Release)
			wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
			synctest.Wait()
			if wait > 0 {
				time.AfterFunc(wait/2, mend)
			} else {
				mend()
			}
			start := time.Now()
			wantIs(t, l.Close())
			if d := time.Since(start); d != wait || !s.Free(t, "k") {
				t.Errorf("free %v after %v", s.Free(t, "k"), d)
			}
		})
	}
}

// A lease was handed over to a waiter that has not run since: Close comes first. The waiter
// gets an error, and the lease goes back to the store.
func TestLeaseHandedOverDuringCloseIsReleased(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the waiter runs when Close waits
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Hour})
		result := make(chan error, 1)
		go func() {
			_, err := l.Acquire(t.Context(), "k", distlock.Opts{KeyTimeout: time.Hour})
			result <- err
		}()
		synctest.Wait()
		wantIs(t, held.Release(t.Context()))
		wantIs(t, l.Close())
		if err := <-result; err != nil { // nil if it has run before Close all the same
			wantIs(t, err, distlock.ErrClosed)
		}
		mustBeFree(t, s, "k")
	})
}
