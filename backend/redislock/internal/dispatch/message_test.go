package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// A request that is not idempotent is sent once, and not direct, because it could not be
// sent again.
func TestNotIdempotentIsSentOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		start := time.Now()
		r := s.Do(t.Context(), 1, false)
		if d := time.Since(start); !errors.Is(r.Err, errSilent) || r.OutcomeKnown || !r.Sent.IsZero() || d != timeout {
			t.Errorf("%+v after %v", r, d)
		}
		if sent := s.sent(); len(sent) != 1 || sent[0].direct {
			t.Errorf("%+v", sent)
		}
	})
}

// A caller should not exceed its context by much. So a slow server gets nothing direct,
// until it is fast again.
func TestSlowServerGetsNothingDirect(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i, delay := range []time.Duration{26 * time.Millisecond, 26 * time.Millisecond, 0, 0} {
			s.next(func(context.Context, bool, []int) (bool, bool) {
				time.Sleep(delay)
				return true, true
			})
			s.mustDo(t, i)
		}
		var direct []bool
		for _, b := range s.sent() {
			direct = append(direct, b.direct)
		}
		if !slices.Equal(direct, []bool{true, false, false, true}) {
			t.Errorf("direct: %v", direct)
		}
	})
}

func TestRequestWithoutAnswerIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		start := time.Now()
		r := s.Do(t.Context(), 7, true)
		if r.Err != nil || r.Value != 70 || r.OutcomeKnown || r.Sent != start.Add(dispatch.DirectTimeout) {
			t.Errorf("%+v", r)
		}
		if sent := s.sent(); len(sent) != 2 || !sent[0].direct || sent[1].direct {
			t.Errorf("%+v", sent)
		}
	})
}

// A request that was not sent is not in doubt.
func TestRequestThatWasNotSentIsSentAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(unreachable)
		s.mustDo(t, 7)
		s.mustDo(t, 8)                   // direct again
		s.next(unreachable, unreachable) //nolint:gocritic // two requests fail
		if r := s.Do(t.Context(), 7, true); r.Err == nil || !r.OutcomeKnown {
			t.Errorf("%+v", r)
		}
	})
}

// If the server does not answer, queued requests end together with those in flight: to
// wait as long again would not help. Few are in doubt.
func TestSilentServer(t *testing.T) {
	for name, mostInDoubt := range map[string]int{"at first": dispatch.MaxInFlight, "later": dispatch.MaxCrowded * dispatch.MaxBatch} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(0, 0)
				if name == "later" {
					s = near(t)
				}
				s.next(silentFor(100)...)
				const n = 1500
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
						if d := time.Since(start); !errors.Is(r.Err, errSilent) || d != timeout {
							t.Errorf("%+v after %v", r, d)
						}
					})
					if i < 2 {
						synctest.Wait()
					}
				}
				time.Sleep(timeout / 2)
				if _, queued := s.Counts(); queued < n/2 {
					t.Errorf("%d are queued", queued)
				}
				time.Sleep(100 * time.Millisecond)
				if s.slowCalls() == 0 {
					t.Error("Slow was not called")
				}
				all.Wait()
				if inDoubt > mostInDoubt {
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
		dead := func(ctx context.Context, direct bool, reqs []int) (answered, outcomeKnown bool) {
			if reqs[0] != 1 {
				return true, true
			}
			return silent(ctx, direct, reqs)
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
				if d := time.Since(start); d > 2*dispatch.DirectTimeout {
					t.Errorf("it took %v", d)
				}
			})
		}
		all.Wait()
	})
}

// The same for a request that is not sent directly. A request that comes later is sent at
// once.
func TestTwoDeadConnectionsDoNotBlockOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silentFor(2)...)
		var all sync.WaitGroup
		for i := range 2 {
			all.Go(func() {
				if r := s.Do(t.Context(), i, false); !errors.Is(r.Err, errSilent) {
					t.Errorf("%+v", r)
				}
			})
			time.Sleep(2 * dispatch.DirectTimeout)
		}
		start := time.Now()
		for i := range 10 {
			s.mustDo(t, 2+i)
		}
		if d := time.Since(start); d > dispatch.DirectTimeout {
			t.Errorf("ten requests took %v", d)
		}
		all.Wait()
	})
}

func TestDeadConnectionOfAnAsynchronousBatch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(silent)
		var all sync.WaitGroup
		all.Go(func() { s.Do(t.Context(), 1, false) })
		time.Sleep(dispatch.DirectTimeout - time.Millisecond)
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

// A batch may end just when it becomes late.
func TestBatchEndsWhenItBecomesLate(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i := range 100 {
			s.next(func(context.Context, bool, []int) (bool, bool) {
				time.Sleep(dispatch.DirectTimeout)
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

// If the timeout is shorter than that of direct batches, nothing is sent directly.
func TestShortTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServerWith(0, 0, dispatch.DirectTimeout/2)
		for i := range 5 {
			s.mustDo(t, i)
		}
		for _, b := range s.sent() {
			if b.direct {
				t.Error("sent directly")
			}
		}
		s.next(silent)
		if r := s.Do(t.Context(), 1, true); !errors.Is(r.Err, errSilent) || s.slowCalls() != 1 {
			t.Errorf("%+v, %d calls of Slow", r, s.slowCalls())
		}
		s.idle(t)
	})
}
