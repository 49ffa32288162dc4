package proof_test

import (
	"context"
	"sync"
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
