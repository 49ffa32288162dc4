package proof_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A thousand waiters in four processes are cancelled at once.
//
// Row 14 (redislock, zklock, etcdlock, sqllock): all calls return soon, and the queue is
// empty. Fails if an abandoned request is not released in the background.
// Row 14 (redlock): all calls return soon. Fails if the pause between two attempts ignores
// the context.
func TestThousandCancelled(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const processes, waiters = 4, 250
		// No waiter returns because it has asked again.
		o := distlock.Opts{KeyTimeout: longLease, RetryInterval: longLease}
		holder := s.locker(t)
		held := testkit.MustAcquire(t, holder, key, o)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var all, full sync.WaitGroup
		full.Add(processes)
		var doubles []*testkit.Store
		for range processes {
			l, double := s.observed(t, distlock.Config{MaxWaiters: waiters - 1})
			doubles = append(doubles, double)
			for range waiters + 1 { // one too many: its error tells that the others wait
				all.Go(func() {
					_, err := l.Acquire(ctx, key, o)
					if kinds(err) == "queue-full" {
						full.Done()
					} else {
						wantKinds(t, "a waiter", err, "canceled+not-acquired")
					}
				})
			}
		}
		full.Wait()
		if !s.hasQueue() {
			for _, d := range doubles {
				testkit.Eventually(t, "a process was refused", func() bool { return d.Answers(testkit.Try) > 0 })
			}
		} else {
			awaitLine(t, holder, processes)
		}
		begun := time.Now()
		cancel()
		back := make(chan struct{})
		go func() {
			all.Wait()
			close(back)
		}()
		await(t, "all are back", back)
		if d := time.Since(begun); d > testkit.Patience/3 {
			t.Errorf("the last was back after %v", d)
		}
		if s.hasQueue() {
			awaitLine(t, holder, 0)
		}
		mustRelease(t, held)
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}

// The first waiter is cancelled while its grant is in flight: the next waiters get the
// key, in the same process and in another.
//
// Row 14 (redislock, redlock, zklock, etcdlock, sqllock): a grant in flight is passed on.
// Fails if an abandoned request is not released in the background.
func TestGrantInFlight(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		const rounds = 20
		// No lease expires during the test, and waiters in a queue rarely ask again.
		o := distlock.Opts{KeyTimeout: longLease, RetryInterval: testkit.Patience}
		if !s.hasQueue() {
			o.RetryInterval = 10 * time.Millisecond
		}
		l, other := s.locker(t), s.locker(t)
		var cancel atomic.Pointer[context.CancelFunc] // cancels the next waiter that is granted the key
		leaver, double := s.observed(t, distlock.Config{})
		double.After(func(_ context.Context, c *testkit.Call) error {
			if c.Op != testkit.Try && c.Op != testkit.Enqueue {
				return nil
			}
			if f := cancel.Swap(nil); f != nil {
				(*f)()
			}
			return nil
		})
		line := func(n int) {
			if s.hasQueue() {
				awaitLine(t, l, n)
			}
		}
		for range rounds {
			held := testkit.MustAcquire(t, l, key, o)
			leaving := testkit.StartAcquire(t, leaver, key, o)
			line(1)
			behind := testkit.StartAcquire(t, leaver, key, o)
			next := testkit.StartAcquire(t, other, key, o)
			line(2)
			cancel.Store(&leaving.Cancel)
			mustRelease(t, held)
			var both sync.WaitGroup
			for _, w := range []*testkit.Waiting[*distlock.Lease]{behind, next} {
				both.Go(func() {
					if !isDone(w.Done) {
						t.Error("one behind is not served")
						return
					}
					if w.Err != nil {
						t.Errorf("Acquire: %v", w.Err)
						return
					}
					if w.Got.Token() <= held.Token() {
						t.Errorf("token %d after token %d", w.Got.Token(), held.Token())
					}
					if err := w.Got.Release(context.Background()); err != nil {
						t.Errorf("Release: %v", err)
					}
				})
			}
			await(t, "the cancelled call has returned", leaving.Done)
			wantKinds(t, "the cancelled call", leaving.Err, "canceled+not-acquired")
			if both.Wait(); t.Failed() {
				return
			}
		}
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}

// A holder's context is cancelled before its release is sent, or meanwhile. The key is
// free all the same.
//
// Row 14 (redislock, redlock, zklock, etcdlock, sqllock): the key is free at once. Fails
// if the release is sent with the caller's context.
func TestCancelledRelease(t *testing.T) {
	eachStore(t, func(t *testing.T, s *store) {
		o := distlock.Opts{KeyTimeout: longLease} // no lease expires during the test
		l, other := s.locker(t), s.locker(t)
		for i := range 20 {
			ctx, cancel := context.WithCancel(context.Background())
			held, err := l.Acquire(ctx, key, o)
			if err != nil {
				t.Fatal(err)
			}
			if i%2 == 0 {
				cancel()
			} else {
				go cancel()
			}
			if err := held.Release(ctx); err != nil {
				t.Errorf("Release: %v", err)
			}
			next, err := other.TryAcquire(t.Context(), key, o)
			if err != nil {
				t.Fatalf("TryAcquire after the release: %v", err)
			}
			mustRelease(t, next)
			cancel()
		}
		s.mustBeEmpty(t)
	}, "redislock", "redlock", "zklock", "etcdlock", "sqllock")
}
