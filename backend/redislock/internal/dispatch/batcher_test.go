package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

func TestLoneCallerIsSentInlineAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i := range 5 {
			start := time.Now()
			s.mustDo(t, i)
			if d := time.Since(start); d != 65*time.Microsecond {
				t.Errorf("it took %v", d)
			}
		}
		for _, b := range s.sent() {
			if !b.inline || len(b.reqs) != 1 {
				t.Errorf("%+v", b)
			}
		}
	})
}

// While a batch is in flight, requests queue. They are sent in their order, in batches of
// limited size.
func TestQueuedRequestsAreSentTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		const n = 2*dispatch.MaxBatch + 5
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { s.mustDo(t, i) })
			if i == 0 {
				time.Sleep(time.Microsecond)
			}
		}
		all.Wait()
		var sizes []int
		for _, b := range s.sent() {
			sizes = append(sizes, len(b.reqs))
		}
		if len(sizes) != 4 || sizes[0] != 1 || sizes[1] != dispatch.MaxBatch || sizes[2] != dispatch.MaxBatch || sizes[3] != 4 {
			t.Errorf("batches of %v requests", sizes)
		}
	})
}

func TestQueueKeepsItsOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() { s.mustDo(t, i) })
			time.Sleep(time.Microsecond)
		}
		all.Wait()
		next := 0
		for _, b := range s.sent() {
			for _, n := range b.reqs {
				if n != next {
					t.Fatalf("%d instead of %d", n, next)
				}
				next++
			}
		}
	})
}

// A request that is not idempotent is sent once, and not inline, because it could not be
// sent again.
func TestNotIdempotentIsSentOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		start := time.Now()
		r := s.Do(t.Context(), 1, false)
		if d := time.Since(start); !errors.Is(r.Err, errSilent) || r.OutcomeKnown || !r.Sent.IsZero() || d != timeout {
			t.Errorf("%+v after %v", r, d)
		}
		if sent := s.sent(); len(sent) != 1 || sent[0].inline {
			t.Errorf("%+v", sent)
		}
	})
}

// A batch with one such request is not sent inline either.
func TestNotIdempotentInABatch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		all.Go(func() { s.mustDo(t, 1) })
		time.Sleep(time.Microsecond)
		for i := range 3 {
			all.Go(func() {
				if r := s.Do(t.Context(), i, i != 2); r.Err != nil || !r.OutcomeKnown {
					t.Errorf("%+v", r)
				}
			})
		}
		all.Wait()
		if sent := s.sent(); len(sent) != 2 || !sent[0].inline || sent[1].inline {
			t.Errorf("%+v", sent)
		}
	})
}

// A caller should not exceed its context by much. So a slow server gets nothing inline,
// until it is fast again.
func TestSlowServerGetsNothingInline(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i, delay := range []time.Duration{11 * time.Millisecond, 11 * time.Millisecond, 0, 0} {
			s.next(func(context.Context, bool, []int) (bool, bool) {
				time.Sleep(delay)
				return true, true
			})
			s.mustDo(t, i)
		}
		var inline []bool
		for _, b := range s.sent() {
			inline = append(inline, b.inline)
		}
		if !slices.Equal(inline, []bool{true, false, false, true}) {
			t.Errorf("inline: %v", inline)
		}
	})
}

func TestRequestWithoutAnswerIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		start := time.Now()
		r := s.Do(t.Context(), 7, true)
		if r.Err != nil || r.Value != 70 || r.OutcomeKnown || r.Sent != start.Add(dispatch.InlineTimeout) {
			t.Errorf("%+v", r)
		}
		if sent := s.sent(); len(sent) != 2 || !sent[0].inline || sent[1].inline {
			t.Errorf("%+v", sent)
		}
	})
}

// A request that was not sent is not in doubt.
func TestRequestThatWasNotSentIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(unreachable)
		s.mustDo(t, 7)
		s.mustDo(t, 8)                   // inline again
		s.next(unreachable, unreachable) //nolint:gocritic // two requests fail
		if r := s.Do(t.Context(), 7, true); r.Err == nil || !r.OutcomeKnown {
			t.Errorf("%+v", r)
		}
	})
}

// If the server does not answer, queued requests end together with those in flight: to
// wait as long again would not help. Few are in doubt.
func TestSilentServer(t *testing.T) {
	for name, responsive := range map[string]bool{"at first": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, limit := newServer(0, 0), timeout
				if responsive {
					s, limit = near(t), timeout+dispatch.InlineTimeout
				}
				s.next(silentFor(100)...)
				const n = 300
				start := time.Now()
				var all sync.WaitGroup
				var mu sync.Mutex
				inDoubt := 0
				for i := range n {
					all.Go(func() {
						r := s.Do(t.Context(), i, true)
						mu.Lock()
						defer mu.Unlock()
						if !r.OutcomeKnown {
							inDoubt++
						}
						if d := time.Since(start); !errors.Is(r.Err, errSilent) || d != limit {
							t.Errorf("%+v after %v", r, d)
						}
					})
				}
				time.Sleep(limit / 2)
				if _, queued := s.Counts(); queued < n/2 {
					t.Errorf("%d are queued", queued)
				}
				time.Sleep(100 * time.Millisecond)
				if s.slowCalls() == 0 {
					t.Error("Slow was not called")
				}
				all.Wait()
				if inDoubt > dispatch.MaxInFlight {
					t.Errorf("%d are in doubt", inDoubt)
				}
				s.next()
				s.mustDo(t, 1)
				s.mustDo(t, 2)
				s.idle(t)
			})
		})
	}
}

// A connection that fails delays others by less than a timeout.
func TestDeadConnectionDoesNotBlockOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		dead := func(ctx context.Context, inline bool, reqs []int) (answered, outcomeKnown bool) {
			if reqs[0] != 1 {
				return true, true
			}
			return silent(ctx, inline, reqs)
		}
		s.next(dead, dead, dead) //nolint:gocritic // three requests meet it
		var all sync.WaitGroup
		all.Go(func() {
			// It is answered if a later message has another request first.
			if r := s.Do(t.Context(), 1, true); r.Err != nil && !errors.Is(r.Err, errSilent) || r.OutcomeKnown {
				t.Errorf("%+v", r)
			}
		})
		for i := range 50 {
			time.Sleep(time.Millisecond)
			all.Go(func() {
				start := time.Now()
				s.mustDo(t, 2+i)
				if d := time.Since(start); d > 2*dispatch.InlineTimeout {
					t.Errorf("it took %v", d)
				}
			})
		}
		all.Wait()
	})
}

// The same for a request that is not sent inline. A request that comes later is sent at
// once.
func TestDeadConnectionOfAnAsynchronousBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		var all sync.WaitGroup
		all.Go(func() { s.Do(t.Context(), 1, false) })
		time.Sleep(dispatch.InlineTimeout - time.Millisecond)
		start := time.Now()
		s.mustDo(t, 2)
		if d := time.Since(start); d > 2*time.Millisecond {
			t.Errorf("the queued request took %v", d)
		}
		time.Sleep(timeout / 4)
		start = time.Now()
		s.mustDo(t, 3)
		if d := time.Since(start); d > time.Millisecond {
			t.Errorf("the later request took %v", d)
		}
		all.Wait()
	})
}

// A batch without an answer does not end the queue if the server answers others.
func TestDeadConnectionDoesNotEndTheQueue(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		start := time.Now()
		var all sync.WaitGroup
		all.Go(func() { s.Do(t.Context(), 1, false) })
		time.Sleep(time.Millisecond)
		for i := range 20 {
			all.Go(func() {
				for time.Since(start) < timeout+10*time.Millisecond {
					s.mustDo(t, i)
				}
			})
		}
		all.Wait()
	})
}

// Callers of a server that does not answer leave when their contexts end: nothing is sent
// inline.
func TestCallersOfASilentServerLeaveAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silentFor(10)...)
		var all sync.WaitGroup
		all.Go(func() { s.Do(t.Context(), 1, false) })
		for range 30 {
			time.Sleep(5 * time.Millisecond)
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				start := time.Now()
				s.Do(ctx, 2, true)
				if d := time.Since(start); d != 10*time.Millisecond {
					t.Errorf("it took %v", d)
				}
			})
		}
		all.Wait()
		s.next()
	})
}

// A request is not sent again when its caller has left.
func TestRequestOfACallerThatHasLeftIsNotSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		all.Go(func() { s.mustDo(t, 1) })
		time.Sleep(time.Microsecond)
		s.next(silent)
		all.Go(func() { s.Do(t.Context(), 2, true) })
		time.Sleep(time.Microsecond)
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), dispatch.InlineTimeout/2)
			defer cancel()
			if r := s.Do(ctx, 3, true); !errors.Is(r.Err, context.DeadlineExceeded) || r.OutcomeKnown {
				t.Errorf("%+v", r)
			}
		})
		all.Wait()
		if sent := s.sent(); len(sent) != 3 || len(sent[1].reqs) != 2 || len(sent[2].reqs) != 1 {
			t.Errorf("%+v", sent)
		}
	})
}

// A batch may end just when it becomes late.
func TestBatchEndsWhenItBecomesLate(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i := range 100 {
			s.next(func(context.Context, bool, []int) (bool, bool) {
				time.Sleep(dispatch.InlineTimeout)
				return true, true
			})
			if r := s.Do(t.Context(), i, false); r.Err != nil {
				t.Errorf("%+v", r)
			}
		}
		time.Sleep(timeout)
		if s.slowCalls() != 0 {
			t.Error("Slow was called for a batch that has ended")
		}
	})
}

// If the timeout is shorter than that of inline batches, nothing is sent inline.
func TestShortTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerWith(0, 0, dispatch.InlineTimeout/2)
		for i := range 5 {
			s.mustDo(t, i)
		}
		for _, b := range s.sent() {
			if b.inline {
				t.Error("sent inline")
			}
		}
		s.next(silent)
		if r := s.Do(t.Context(), 1, true); !errors.Is(r.Err, errSilent) || s.slowCalls() != 1 {
			t.Errorf("%+v, %d calls of Slow", r, s.slowCalls())
		}
		s.idle(t)
	})
}

// A caller leaves when its context ends. It learns whether its request was sent.
func TestCallerLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if r := s.Do(ended, 1, true); !errors.Is(r.Err, context.Canceled) || !r.OutcomeKnown {
			t.Errorf("before it was sent: %+v", r)
		}
		s.next(silent)
		var all sync.WaitGroup
		leaver := func(idempotent, outcomeKnown bool, d time.Duration) {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), d)
				defer cancel()
				start := time.Now()
				r := s.Do(ctx, 1, idempotent)
				if !errors.Is(r.Err, context.DeadlineExceeded) || r.OutcomeKnown != outcomeKnown || time.Since(start) != d {
					t.Errorf("%+v after %v", r, time.Since(start))
				}
			})
			time.Sleep(time.Millisecond)
		}
		leaver(false, false, 500*time.Millisecond) // in flight
		leaver(true, true, 10*time.Millisecond)    // queued
		all.Go(func() { s.mustDo(t, 4) })          // queued behind it
		all.Wait()
		for _, b := range s.sent()[1:] {
			if len(b.reqs) != 1 || b.reqs[0] != 4 {
				t.Errorf("%+v", b)
			}
		}
	})
}

// The caller that sends a batch may leave. That does not end the requests of others.
func TestLeaderThatLeavesDoesNotEndOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 5))
		s.next(func(got context.Context, _ bool, _ []int) (bool, bool) {
			cancel()
			if got.Err() != nil || got.Value(key{}) != 5 {
				t.Errorf("the context of the batch has %v, %v", got.Err(), got.Value(key{}))
			}
			return true, true
		})
		if r := s.Do(ctx, 1, true); r.Err != nil && !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%+v", r)
		}
	})
}

type key struct{}

// If the caller leaves that was told to send the queued requests, another sends them.
func TestLeaderThatLeavesIsFollowed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for range 500 {
			ctx, cancel := context.WithCancel(t.Context())
			s.next(func(context.Context, bool, []int) (bool, bool) {
				time.Sleep(time.Millisecond)
				cancel() // just before the next in the queue is told
				return true, true
			})
			var all sync.WaitGroup
			all.Go(func() { s.mustDo(t, 1) })
			time.Sleep(time.Microsecond)
			all.Go(func() {
				if r := s.Do(ctx, 2, true); r.Err != nil && (!errors.Is(r.Err, context.Canceled) || !r.OutcomeKnown) {
					t.Errorf("%+v", r)
				}
			})
			time.Sleep(time.Microsecond)
			all.Go(func() { s.mustDo(t, 3) })
			all.Wait()
		}
	})
}

// Callers that leave at any moment leave nothing behind, and no caller gets the result of
// another.
func TestCallersLeaveAtAnyMoment(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				for i := range 300 {
					ctx, cancel := context.WithTimeout(t.Context(), rand.N(time.Millisecond))
					n := 1000*w + i
					r := s.Do(ctx, n, i%7 != 0)
					cancel()
					if r.Err == nil && r.Value != 10*n || r.Err != nil && !errors.Is(r.Err, context.DeadlineExceeded) {
						t.Errorf("%d: %+v", n, r)
					}
				}
			})
		}
		all.Wait()
		s.mustDo(t, 1)
	})
}

// A panic of a client's hook reaches the caller. Others get an error, and the Batcher goes
// on.
func TestPanic(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		all.Go(func() { s.mustDo(t, 1) })
		time.Sleep(time.Microsecond)
		s.next(func(context.Context, bool, []int) (bool, bool) { panic("hook") })
		for i := range 2 {
			all.Go(func() {
				defer func() { _ = recover() }()
				if r := s.Do(t.Context(), i, true); r.Err == nil || r.OutcomeKnown || i == 0 {
					t.Errorf("%d: %+v", i, r)
				}
			})
			time.Sleep(time.Microsecond)
		}
		all.Wait()
		s.mustDo(t, 2)
	})
}
