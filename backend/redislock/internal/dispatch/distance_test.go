package dispatch_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// load keeps the given number of callers busy for d.
func (s *server) load(t *testing.T, callers int, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for time.Now().Before(end) {
				s.mustDo(t, i)
			}
		})
	}
	all.Wait()
}

// The number of batches in flight grows with the distance of the server, and not with the
// load.
func TestLimitFollowsTheDistance(t *testing.T) {
	for _, test := range []struct {
		rtt, perRequest time.Duration
		callers, limit  int
	}{
		{60 * time.Microsecond, 5 * time.Microsecond, 1, 1},
		{60 * time.Microsecond, 5 * time.Microsecond, 8, 1},
		{60 * time.Microsecond, 5 * time.Microsecond, 300, 1},
		{500 * time.Microsecond, 5 * time.Microsecond, 8, 4},
		{500 * time.Microsecond, 5 * time.Microsecond, 300, 4},
		{20 * time.Millisecond, 5 * time.Microsecond, 300, dispatch.MaxInFlight},
	} {
		t.Run("", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(test.rtt, test.perRequest)
				s.load(t, test.callers, 50*test.rtt)
				s.forget()
				s.load(t, test.callers, 500*test.rtt)
				if s.Limit() != test.limit || s.max > test.limit {
					t.Errorf("%+v: the limit is %d, there were %d in flight", test, s.Limit(), s.max)
				}
			})
		})
	}
}

// If every answer takes longer than the timeout of an inline batch, batches are not late,
// and are not overtaken by single requests.
func TestBatchesForADistantServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(120*time.Millisecond, 5*time.Microsecond)
		s.load(t, 500, 2*time.Second)
		s.forget()
		s.load(t, 500, 3*time.Second)
		requests := 0
		for _, b := range s.sent() {
			requests += len(b.reqs)
		}
		if mean := requests / len(s.batches); mean < 20 || s.max != dispatch.MaxInFlight {
			t.Errorf("batches of %d requests, %d in flight", mean, s.max)
		}
		s.idle(t)
	})
}

// A caller of a server over a network hardly waits for the batches of others.
func TestLatencyOverANetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rtt, callers, long = 500 * time.Microsecond, 8, time.Second
		s := newServer(rtt, 5*time.Microsecond)
		s.load(t, callers, long)
		s.forget()
		s.load(t, callers, long)
		requests := 0
		for _, b := range s.sent() {
			requests += len(b.reqs)
		}
		// With one batch in flight, it is twice the round trip time.
		if mean := long * callers / time.Duration(requests); mean > rtt+rtt/4 {
			t.Errorf("a request takes %v", mean)
		}
		s.idle(t)
	})
}

// The first batch is slow, because it opens a connection. Later the server moves away and
// comes back, while it is always busy.
func TestLimitFollowsAChangeUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(30*time.Millisecond, 5*time.Microsecond)
		s.mustDo(t, 1)
		const long = 100 * time.Millisecond
		go s.load(t, 600, 3*long)
		for _, step := range []struct {
			rtt   time.Duration
			limit int
		}{{60 * time.Microsecond, 1}, {2 * time.Millisecond, 16}, {60 * time.Microsecond, 1}} {
			s.setDistance(step.rtt)
			time.Sleep(long / 5)
			s.EndPeriod()
			time.Sleep(long / 2)
			s.forget()
			time.Sleep(long - long/2 - long/5)
			s.mu.Lock()
			if s.max > step.limit || s.Limit() != step.limit {
				t.Errorf("at a distance of %v the limit is %d, there were %d in flight", step.rtt, s.Limit(), s.max)
			}
			s.mu.Unlock()
		}
		s.idle(t)
	})
}

// A change is noticed after a second, or after 1,000 round trips.
func TestLimitFollowsAChangeInTime(t *testing.T) {
	inBubble(t, func(t *testing.T, s *server) {
		for _, step := range []struct {
			rtt, after time.Duration
			limit      int
		}{{2 * time.Millisecond, time.Second, 16}, {60 * time.Microsecond, 0, 1}, {5 * time.Millisecond, time.Second, 16}} {
			s.setDistance(step.rtt)
			time.Sleep(step.after)
			for range 5 {
				s.mustDo(t, 1)
			}
			if s.Limit() != step.limit {
				t.Errorf("%v later at a distance of %v the limit is %d", step.after, step.rtt, s.Limit())
			}
		}
	})
}
