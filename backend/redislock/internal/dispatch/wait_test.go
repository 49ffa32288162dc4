package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// A request is not sent again when its caller has left.
func TestRequestOfACallerThatHasLeftIsNotSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		ctx, cancel := context.WithTimeout(t.Context(), dispatch.DirectTimeout/2)
		defer cancel()
		if r := s.Do(ctx, 3, true); !errors.Is(r.Err, context.DeadlineExceeded) || r.OutcomeKnown {
			t.Errorf("%+v", r)
		}
		if sent := s.sent(); len(sent) != 1 || !sent[0].direct {
			t.Errorf("%+v", sent)
		}
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

// A message does not end with the context of its leader: it has the requests of others, too.
// Callers that queued while the server answered leave when it does not answer any more.
func TestQueuedCallersLeave(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(append([]func(context.Context, bool, []int) (bool, bool){answerLate}, silentFor(100)...)...)
		var all sync.WaitGroup
		all.Go(func() { s.mustDo(t, 0) })
		synctest.Wait()
		start := time.Now()
		for i := range 3 * dispatch.MaxBatch { // the first is not idempotent: its message is not direct
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r := s.Do(ctx, 1+i, i > 0)
				if d := time.Since(start); !errors.Is(r.Err, context.DeadlineExceeded) || d > time.Second+dispatch.DirectTimeout {
					t.Errorf("%d: %+v after %v", i, r, d)
				}
			})
			if i == 0 {
				synctest.Wait()
			}
		}
		all.Wait()
	})
}

func TestMessageDoesNotEndWithItsLeader(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(t.Context())
		s.next(func(got context.Context, _ bool, _ []int) (bool, bool) {
			cancel()
			if got.Err() != nil {
				t.Errorf("the context of the message has %v", got.Err())
			}
			return true, true
		})
		if r := s.Do(ctx, 1, true); r.Err != nil && !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%+v", r)
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
