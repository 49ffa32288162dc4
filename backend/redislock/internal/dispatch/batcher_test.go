package dispatch_test

import (
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
