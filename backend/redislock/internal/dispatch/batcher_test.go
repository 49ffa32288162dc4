package dispatch_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

func TestLoneCallerGoesDirectlyAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for i := range 5 {
			start := time.Now()
			s.mustDo(t, i)
			if d := time.Since(start); d != 65*time.Microsecond {
				t.Errorf("it took %v", d)
			}
		}
		for _, b := range s.sent() {
			if !b.direct || len(b.reqs) != 1 {
				t.Errorf("%+v", b)
			}
		}
	})
}

// While a message is on its way, others queue. They are sent together, in their order.
func TestQueuedRequestsAreSentTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		for i := range 1 + dispatch.MaxBatch/2 {
			all.Go(func() { s.mustDo(t, i) })
			synctest.Wait()
		}
		all.Wait()
		var sizes []int
		next := 0
		for _, b := range s.sent() {
			sizes = append(sizes, len(b.reqs))
			for _, n := range b.reqs {
				if n != next || !b.direct {
					t.Errorf("%d instead of %d, direct %v", n, next, b.direct)
				}
				next++
			}
		}
		if want := []int{1, dispatch.MaxBatch / 2}; !slices.Equal(sizes, want) {
			t.Errorf("messages of %v requests, want %v", sizes, want)
		}
	})
}

// Where many wait, messages of limited size follow each other before there is an answer, but
// few at once.
func TestCrowd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		const n = 10 * dispatch.MaxBatch
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { s.mustDo(t, i) })
		}
		synctest.Wait()
		if inFlight, _ := s.Counts(); inFlight != dispatch.MaxCrowded {
			t.Errorf("%d messages are in flight, want %d", inFlight, dispatch.MaxCrowded)
		}
		all.Wait()
		sent := s.sent()
		for _, b := range sent {
			if len(b.reqs) > dispatch.MaxBatch || !b.direct {
				t.Errorf("%d requests, direct %v", len(b.reqs), b.direct)
			}
		}
		if most := 2 * n / dispatch.MaxBatch; len(sent) > most {
			t.Errorf("%d messages, want at most %d", len(sent), most)
		}
	})
}

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

// A leader takes along what may be sent twice, and leaves the rest of the queue.
func TestNotIdempotentIsNotTakenAlong(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		var all sync.WaitGroup
		for i, idempotent := range []bool{true, true, false, true} {
			all.Go(func() { s.Do(t.Context(), i, idempotent) })
			synctest.Wait()
		}
		all.Wait()
		want := []batch{{true, []int{0}}, {true, []int{1}}, {false, []int{2, 3}}}
		if got := s.sent(); !reflect.DeepEqual(got, want) {
			t.Errorf("sent %+v, want %+v", got, want)
		}
	})
}

// Callers in a hurry share messages, and wait for one at most.
func TestCallersShareMessages(t *testing.T) {
	for _, callers := range []int{2, 3, 8, 64, 1000} {
		inBubble(t, func(t *testing.T, s *server) {
			const rounds = 100
			start := time.Now()
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					for range rounds {
						s.mustDo(t, i)
					}
				})
			}
			all.Wait()
			most := 2 * rounds
			if callers > 8 {
				most = callers * rounds / 6
			}
			if n := len(s.sent()); n > most {
				t.Errorf("%d messages for %d requests of %d callers", n, callers*rounds, callers)
			}
			if d := time.Since(start) / rounds; d > 2*65*time.Microsecond+time.Duration(callers)*6*time.Microsecond {
				t.Errorf("with %d callers a request takes %v", callers, d)
			}
		})
	}
}

// A batch to a distant server is followed by others, and a caller hardly waits for those of
// others. The silence of a long way is not taken for that of the server.
func TestDistantServer(t *testing.T) {
	for _, rtt := range []time.Duration{500 * time.Microsecond, 20 * time.Millisecond, 120 * time.Millisecond} {
		t.Run(rtt.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(rtt, 5*time.Microsecond)
				s.mustDo(t, 0)
				for _, callers := range []int{1, 8, 500} {
					s.forget()
					requests, end := 0, time.Now().Add(100*rtt)
					var mu sync.Mutex
					var all sync.WaitGroup
					for i := range callers {
						all.Go(func() {
							for time.Now().Before(end) {
								s.mustDo(t, i)
								mu.Lock()
								requests++
								mu.Unlock()
							}
						})
					}
					all.Wait()
					if mean := 100 * rtt * time.Duration(callers) / time.Duration(requests); mean > 2*rtt+time.Duration(callers)*5*time.Microsecond {
						t.Errorf("with %d callers a request takes %v", callers, mean)
					}
					if n := len(s.sent()); callers > 8 && requests/n < 20 {
						t.Errorf("%d messages for %d requests", n, requests)
					}
				}
				s.idle(t)
			})
		})
	}
}

// Nobody waits for the answer of a distant server to another's request.
func TestDistantServerIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rtt = 20 * time.Millisecond
		s := newServer(rtt, 0)
		for i := range 10 {
			s.mustDo(t, i)
		}
		var all sync.WaitGroup
		for i := range dispatch.MaxInFlight {
			time.Sleep(time.Duration(i) * 17 * time.Microsecond)
			all.Go(func() {
				start := time.Now()
				s.mustDo(t, i)
				if d := time.Since(start); d != rtt {
					t.Errorf("the request %d took %v", i, d)
				}
			})
		}
		all.Wait()
		s.idle(t)
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

// A panic of a client's hook reaches the caller, and the Batcher goes on.
func TestPanic(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		s.next(answerLate, func(context.Context, bool, []int) (bool, bool) { panic("hook") })
		var all sync.WaitGroup
		all.Go(func() { s.mustDo(t, 0) })
		synctest.Wait()
		all.Go(func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			s.Do(t.Context(), 1, true)
		})
		synctest.Wait()
		all.Go(func() { // in the message of the panic, which may have been sent
			if r := s.Do(t.Context(), 2, true); r.Err != nil || r.Value != 20 || r.OutcomeKnown {
				t.Errorf("%+v", r)
			}
		})
		all.Wait()
		s.mustDo(t, 3)
	})
}
