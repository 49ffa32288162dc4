package test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestReentryOfAnEndedLeaseIsErrLost(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		again, err := l.Acquire(held.Context(), "k", distlock.Opts{})
		wantIs(t, err)
		wantIs(t, again.Release(t.Context()))
		if !errors.Is(again.Check(), distlock.ErrLost) || held.Check() != nil {
			t.Errorf("after the inner release: inner %v, outer %v", again.Check(), held.Check())
		}
		third, err := l.Acquire(held.Context(), "k", distlock.Opts{})
		wantIs(t, err)

		wantIs(t, held.Release(t.Context()))
		wantIs(t, third.Check(), distlock.ErrLost)
		wantIs(t, third.Release(t.Context()), distlock.ErrLost)
		if !errors.Is(context.Cause(third.Context()), distlock.ErrLost) {
			t.Errorf("cause %v", context.Cause(third.Context()))
		}
		// A goroutine that has outlived the call must not take the lock silently.
		stray := context.WithoutCancel(held.Context())
		wantIs(t, testkit.ErrorOf(l.Acquire(stray, "k", distlock.Opts{})), distlock.ErrLost)

		free, err := l.Acquire(distlock.Detach(held.Context()), "k", distlock.Opts{})
		wantIs(t, err)
		wantIs(t, free.Release(t.Context()))
	})
}

func TestReentryIsToldOfTheLoss(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		// without the cancellation, but with the lease
		inner, err := l.Acquire(context.WithoutCancel(held.Context()), "k", distlock.Opts{})
		wantIs(t, err)
		s.Memory().Drop("k")
		<-inner.Context().Done()
		wantIs(t, context.Cause(inner.Context()), distlock.ErrLost)
		wantIs(t, inner.Release(t.Context()), distlock.ErrLost)
		wantIs(t, held.Release(t.Context()), distlock.ErrLost)
	})
}

func TestAnotherLockerIsNoReentry(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		other := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		second, err := other.Acquire(held.Context(), "k", distlock.Opts{})
		wantIs(t, err)
		wantIs(t, held.Release(t.Context()))
		wantIs(t, second.Check()) // the lock in the other store is still held
		wantIs(t, second.Release(t.Context()))
	})
}

func TestFromContextAndDetach(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		if s, ok := distlock.FromContext(t.Context()); ok || s != nil {
			t.Error("a lease in an empty context")
		}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), ctxKey{}, "kept"))
		held, err := l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err)
		d := distlock.Detach(held.Context())
		cancel()
		if _, ok := distlock.FromContext(d); ok || d.Err() != nil || d.Value(ctxKey{}) != "kept" {
			t.Errorf("detached: err %v, value %v", d.Err(), d.Value(ctxKey{}))
		}
		if held.Check() != nil {
			t.Error("a cancelled caller lost the lock before it gave it back")
		}
		wantIs(t, held.Release(ctx)) // sent although ctx has ended
	})
}

func TestReleaseWithoutAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		s.Fail(testkit.ErrBroken, testkit.Release)
		wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
		time.Sleep(time.Second)
		s.Fail(nil)
		time.Sleep(time.Second)
		mustBeFree(t, s, "k")

		held = testkit.MustAcquire(t, l, "k", distlock.Opts{})
		s.LoseReplies(testkit.Release, 1) // applied, but the reply is lost
		next := inBackground(t, testkit.NewLocker(t, s, distlock.Config{}), distlock.Opts{})
		wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
		got := <-next
		time.Sleep(10 * time.Second)
		wantIs(t, got.Check()) // the second release of the first lease has not affected it
		wantIs(t, got.Release(t.Context()))
	})
}

func TestReleaseIsSentAfterTheWatchEnds(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Release {
				time.Sleep(time.Second) // time for a renewal
			}
			return nil
		})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 2 * time.Second})
		wantIs(t, held.Release(t.Context()))
		wantCalls(t, s, testkit.Renew, 0)
	})
}

func TestHungReleaseIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.Hang(testkit.Release)
		for lease, most := range map[time.Duration]time.Duration{
			time.Minute:            releaseTimeout,
			500 * time.Millisecond: 500 * time.Millisecond, // it does not wait beyond the end of the lease
		} {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: lease})
			start := time.Now()
			wantIs(t, held.Release(t.Context()), distlock.ErrUnavailable)
			if d := time.Since(start); d > most || d < most*3/4 {
				t.Errorf("the caller was kept for %v, want %v", d, most)
			}
			time.Sleep(lease)
		}
	})
}

func TestRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 3 * time.Second})
		time.Sleep(500 * time.Millisecond)
		wantIs(t, held.Refresh(t.Context()))
		if d := time.Until(held.Until()); d != 3*time.Second-clock.Margin(3*time.Second) {
			t.Errorf("Until is %v away after Refresh", d)
		}
		s.Fail(testkit.ErrBroken, testkit.Renew)
		wantIs(t, held.Refresh(t.Context()), distlock.ErrUnavailable, testkit.ErrBroken)
		s.Fail(testkit.ErrSilent, testkit.Renew)
		wantIs(t, held.Refresh(t.Context()), distlock.ErrUnavailable)
		wantIs(t, held.Check())
		s.Fail(nil)
		s.Memory().Drop("k")
		wantIs(t, held.Refresh(t.Context()), distlock.ErrLost)
		wantIs(t, held.Check(), distlock.ErrLost)
		asked := len(s.Calls(testkit.Renew))
		time.Sleep(time.Minute)
		wantCalls(t, s, testkit.Renew, asked)
		wantIs(t, held.Release(t.Context()), distlock.ErrLost)

		capped := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: 3 * time.Second, MaxHold: 4 * time.Second})
		end := time.Now().Add(4 * time.Second)
		time.Sleep(3500 * time.Millisecond)
		wantIs(t, capped.Refresh(t.Context()))
		if !capped.Until().Equal(end) {
			t.Errorf("Refresh went beyond MaxHold: %v", capped.Until().Sub(end))
		}
		wantIs(t, capped.Release(t.Context()))
	})
}

// slowRenewals makes the reply to each renewal take d.
func slowRenewals(d time.Duration) testkit.Hook {
	return func(_ context.Context, c *testkit.Call) error {
		if c.Op == testkit.Renew {
			time.Sleep(d)
		}
		return nil
	}
}

// An extended lease counts from before the request was sent: the reply does not say
// when the store started its clock.
func TestExtensionCountsFromTheSending(t *testing.T) {
	const ttl = 3 * time.Second
	o := distlock.Opts{KeyTimeout: ttl}
	for name, c := range map[string]struct {
		op     testkit.Op
		slow   time.Duration
		extend func(*testing.T, *distlock.Locker, *distlock.Lease) *distlock.Lease
	}{
		"renewal": {testkit.Renew, 800 * time.Millisecond, func(_ *testing.T, _ *distlock.Locker, held *distlock.Lease) *distlock.Lease {
			time.Sleep(2 * time.Second)
			return held
		}},
		"refresh": {testkit.Renew, 800 * time.Millisecond, func(t *testing.T, _ *distlock.Locker, held *distlock.Lease) *distlock.Lease {
			wantIs(t, held.Refresh(t.Context()))
			return held
		}},
		"question": {testkit.Extend, 80 * time.Millisecond, func(t *testing.T, l *distlock.Locker, held *distlock.Lease) *distlock.Lease {
			next := inBackground(t, l, o)
			wantIs(t, held.Release(t.Context()))
			return mustGet(t, next)
		}},
	} {
		bubbleCase(t, name, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
			s.LimitTokens(1) // a hand-over asks the store
			l := testkit.NewLocker(t, s.Only(testkit.Queuing|testkit.Extending), distlock.Config{})
			s.After(func(_ context.Context, call *testkit.Call) error {
				if call.Op == c.op {
					time.Sleep(c.slow)
				}
				return nil
			})
			held := c.extend(t, l, testkit.MustAcquire(t, l, "k", o))
			if d := held.Until().Sub(s.Calls(c.op)[0].At); d != ttl-clock.Margin(ttl) {
				t.Errorf("believed in for %v after it was sent", d)
			}
			wantIs(t, held.Release(t.Context()))
		})
	}
}

// A reply that arrives after the reply to a later request does not move the end back.
func TestLateAnswerDoesNotMoveTheEndBack(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Renew && len(s.Calls(testkit.Renew)) == 1 {
				time.Sleep(5 * time.Second)
			}
			return nil
		})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Minute})
		var all sync.WaitGroup
		all.Go(func() { wantIs(t, held.Refresh(t.Context())) })
		time.Sleep(time.Second)
		wantIs(t, held.Refresh(t.Context()))
		end := held.Until()
		all.Wait()
		if d := held.Until().Sub(end); d != 0 {
			t.Errorf("the end moved by %v", d)
		}
		wantIs(t, held.Release(t.Context()))
	})
}

// The reply to a Refresh arrives when the lease that it extended has ended: Refresh
// checks again.
func TestRefreshLooksAgainAfterTheAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		slow time.Duration
		want error
	}{
		"in time":         {400 * time.Millisecond, nil},
		"released":        {600 * time.Millisecond, distlock.ErrLost},
		"after the lease": {2 * time.Second, distlock.ErrLost},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			s.After(slowRenewals(c.slow))
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Second})
			if name == "released" {
				time.AfterFunc(c.slow/2, func() { wantIs(t, held.Release(context.Background())) })
			}
			if err := held.Refresh(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("Refresh: %v, want %v", err, c.want)
			}
			_ = held.Release(t.Context())
		})
	}
}

func TestFencing(t *testing.T) {
	o := distlock.Opts{Fencing: true}
	never := func(context.Context) error { panic("ran without a token") }
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		wantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error {
			if lease, _ := distlock.FromContext(ctx); lease.Token() == 0 {
				t.Error("no token")
			}
			return nil
		}))
		s.LimitTokens(0)
		bare := testkit.NewLocker(t, s, distlock.Config{})
		for _, o.RetryCount = range []int{0, 1, 5} {
			before := len(s.Calls(testkit.Enqueue)) + len(s.Calls(testkit.Try))
			err := bare.Do(t.Context(), "k", o, never)
			wantIs(t, err, distlock.ErrNoFencing)
			if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Op != "acquire" || e.Key != "k" {
				t.Errorf("got %#v", err)
			}
			if n := len(s.Calls(testkit.Enqueue)) + len(s.Calls(testkit.Try)) - before; n != 1 {
				t.Errorf("RetryCount %d: %d attempts", o.RetryCount, n)
			}
			mustBeFree(t, s, "k")
		}
		// released in the background if there is no answer
		s.Fail(testkit.ErrBroken, testkit.Release)
		wantIs(t, bare.Do(t.Context(), "k", o, never), distlock.ErrNoFencing)
		s.Fail(nil)
		time.Sleep(time.Second)
		mustBeFree(t, s, "k")
		// without the option it works as before
		wantIs(t, bare.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error { return ctx.Err() }))
		mustCloseAtOnce(t, bare)
	})
}

// A lock without a token in this process is refused as well: on re-entry, and on a
// hand-over, where it goes to the next waiter.
func TestFencingOfWhatIsHere(t *testing.T) {
	o := distlock.Opts{Fencing: true}
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		s.LimitTokens(0)
		l := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		_, err := l.Acquire(held.Context(), "k", o)
		wantIs(t, err, distlock.ErrNoFencing)
		wantIs(t, held.Check())

		var all sync.WaitGroup
		all.Go(func() {
			wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "k", o)), distlock.ErrNoFencing)
		})
		synctest.Wait()
		served := false
		line(t, &all, l, 1, distlock.Opts{}, func(context.Context, int) { served = true })
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		wantCalls(t, s, testkit.Enqueue, 1)
		if !served {
			t.Error("the next waiter was not served")
		}
		nothingLeft(t, l, s)
	})
}
