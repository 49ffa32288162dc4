package test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// No request is sent for a context that has ended.
func TestEndedContextSendsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		done, cancel := context.WithCancel(t.Context())
		cancel()
		wantIs(t, l.Do(done, "k", distlock.Opts{}, ran), distlock.ErrNotAcquired, context.Canceled)
		wantCalls(t, s, testkit.Enqueue, 0)
	})
}

func TestFailingBackendIsTriedAgainWithinTheBudget(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.Fail(testkit.ErrBroken, testkit.Enqueue)
		start := time.Now()
		_, err := l.Acquire(t.Context(), "k", distlock.Opts{RetryCount: 4, RetryInterval: time.Second})
		wantIs(t, err, distlock.ErrUnavailable, testkit.ErrBroken)
		if d := time.Since(start); d < 3*time.Second || d > 6*time.Second {
			t.Errorf("gave up after %v", d)
		}
		if calls := s.Calls(testkit.Enqueue); len(calls) != 4 || calls[0].Owner != calls[3].Owner {
			t.Errorf("attempts: %v, want 4 of one owner", calls)
		}

		time.AfterFunc(10*time.Second, func() { s.Fail(nil) })
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{RetryInterval: time.Second})
		wantIs(t, held.Release(t.Context()))

		s.Fail(testkit.ErrBroken, testkit.Enqueue)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = l.Acquire(ctx, "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrUnavailable, distlock.ErrNotAcquired, context.DeadlineExceeded, testkit.ErrBroken)
	})
}

// Waiters at the gate are told that the backend is down, and not that the lock is held.
func TestFailingBackendIsToldAtTheGate(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.Fail(testkit.ErrBroken, testkit.Enqueue, testkit.Try)
		o := distlock.Opts{RetryCount: 5, RetryInterval: time.Second}
		start := time.Now()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "k", o)), distlock.ErrUnavailable, testkit.ErrBroken)
				if d := time.Since(start); d > 8*time.Second {
					t.Errorf("told after %v", d)
				}
			})
		}
		synctest.Wait()
		wantIs(t, testkit.ErrorOf(l.TryAcquire(t.Context(), "k", o)), distlock.ErrUnavailable, testkit.ErrBroken)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := l.Acquire(ctx, "k", o)
		wantIs(t, err, distlock.ErrUnavailable, distlock.ErrNotAcquired, context.DeadlineExceeded, testkit.ErrBroken)
		all.Wait()

		// after it works again, they are told that the lock is held
		all.Go(func() {
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{RetryInterval: 100 * time.Millisecond})
			time.Sleep(time.Minute)
			wantIs(t, held.Release(t.Context()))
		})
		time.Sleep(time.Second)
		s.Fail(nil)
		time.Sleep(10 * time.Second)
		wantIs(t, testkit.ErrorOf(l.Acquire(t.Context(), "k", o)), distlock.ErrNotAcquired)
		all.Wait()
	})
}

func TestHintBringsTheNextAttemptForward(t *testing.T) {
	bubble(t, func(t *testing.T, _ *distlock.Locker, s *testkit.Store) {
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		dead := driver.Request{Key: "k", Owner: "dead", TTL: 100 * time.Millisecond, Tokens: 1}
		if _, err := s.Backend.TryAcquire(t.Context(), dead); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{RetryInterval: time.Hour})
		wantTook(t, start, 100*time.Millisecond)
		wantIs(t, held.Release(t.Context()))
	})
}

// A reply is lost after the write: the next attempt must find its own grant, and an
// abandoned acquisition must not leave the key behind.
func TestLostAcquireReply(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		s.LoseReplies(testkit.Enqueue, 2)
		start := time.Now()
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("locked itself out for %v", d)
		}
		wantIs(t, held.Release(t.Context()))

		s.LoseReplies(testkit.Try, 1)
		_, err := l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrUnavailable, testkit.ErrBroken)
		synctest.Wait()
		mustBeFree(t, s, "k")

		s.LoseReplies(testkit.Try, 1)
		s.Fail(testkit.ErrBroken, testkit.Release)
		_, err = l.TryAcquire(t.Context(), "k", distlock.Opts{})
		wantIs(t, err, distlock.ErrUnavailable, testkit.ErrBroken)
		time.Sleep(3 * time.Second)
		s.Fail(nil)
		time.Sleep(time.Second)
		mustBeFree(t, s, "k")
	})
}

// Row 14 (memlock): a grant in flight is passed on. Fails if an abandoned request is
// not released in the background.
func TestGrantForACancelledWaiterIsPassedOn(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		ctx, cancel := context.WithCancel(t.Context())
		s.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Enqueue {
				cancel() // while the reply is in flight
			}
			return nil
		})
		wantIs(t, testkit.ErrorOf(l.Acquire(ctx, "k", distlock.Opts{})), distlock.ErrNotAcquired, context.Canceled)
		synctest.Wait()
		nothingLeft(t, l, s)
	})
}

// A reply that comes after the lease is no lock, and neither is a grant by a message that is
// over when it is usable.
func TestReplyAfterTheLeaseIsNoLock(t *testing.T) {
	for name, spoil := range map[string]func(c *testkit.Call){
		"a late reply":         func(*testkit.Call) { time.Sleep(1100 * time.Millisecond) },
		"a grant that is over": func(c *testkit.Call) { c.Grants[0].Until = time.Now() },
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			s.After(func(_ context.Context, c *testkit.Call) error {
				if c.Op == testkit.Enqueue && len(s.Calls(testkit.Enqueue)) <= 2 {
					spoil(c)
				}
				return nil
			})
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{KeyTimeout: time.Second})
			wantCalls(t, s, testkit.Enqueue, 3)
			wantIs(t, held.Check())
			wantIs(t, held.Release(t.Context()))
		})
	}
}
