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

const timeout = 2 * time.Second

var errSilent = errors.New("no answer")

// server is a server in virtual time that handles one batch after the other. It answers a
// request n with 10n.
type server struct {
	*dispatch.Batcher[int, int]

	rtt, perRequest time.Duration

	mu        sync.Mutex
	busyUntil time.Time
	script    []func(ctx context.Context, direct bool, reqs []int) (answered, outcomeKnown bool) // for the next batches, instead of an answer
	batches   []batch
	slow      int // calls of Slow
}

// batch is a call of Direct or Send.
type batch struct {
	direct bool
	reqs   []int
}

func newServer(rtt, perRequest time.Duration) *server {
	return newServerWith(rtt, perRequest, timeout)
}

func newServerWith(rtt, perRequest, timeout time.Duration) *server {
	s := &server{rtt: rtt, perRequest: perRequest}
	s.Batcher = dispatch.New(dispatch.Config[int, int]{
		Direct: func(ctx context.Context, reqs []int, results []dispatch.Result[int]) {
			for i := range results {
				if results[i] != (dispatch.Result[int]{}) {
					panic("the results of another message")
				}
				results[i].OutcomeKnown = true // it is not sent yet
			}
			copy(results, s.send(ctx, true, reqs))
		},
		Send: func(ctx context.Context, reqs []int) []dispatch.Result[int] {
			return s.send(ctx, false, reqs)
		},
		Timeout: timeout,
		Slow: func() {
			s.mu.Lock()
			s.slow++
			s.mu.Unlock()
		},
		NoAnswer: func() error { return errSilent },
	})
	return s
}

// near returns a server on the same machine that the Batcher knows.
func near(t *testing.T) *server {
	t.Helper()
	s := newServer(60*time.Microsecond, 5*time.Microsecond)
	for i := range 10 {
		s.mustDo(t, i)
	}
	s.forget()
	return s
}

// forget forgets the batches so far.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches, s.slow = nil, 0
}

// next sets what the server does with the next batches instead of answering.
func (s *server) next(f ...func(ctx context.Context, direct bool, reqs []int) (answered, outcomeKnown bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = f
}

// silent is a server that does not answer.
func silent(ctx context.Context, direct bool, _ []int) (answered, outcomeKnown bool) {
	if direct {
		time.Sleep(dispatch.DirectTimeout)
	} else {
		<-ctx.Done()
		time.Sleep(time.Second) // clients may exceed it
	}
	return false, false
}

// answerLate answers after a millisecond.
func answerLate(context.Context, bool, []int) (answered, outcomeKnown bool) {
	time.Sleep(time.Millisecond)
	return true, true
}

// unreachable is a server that refuses connections.
func unreachable(context.Context, bool, []int) (answered, outcomeKnown bool) { return false, true }

// silentFor returns n silent batches.
func silentFor(n int) []func(context.Context, bool, []int) (bool, bool) {
	return slices.Repeat([]func(context.Context, bool, []int) (bool, bool){silent}, n)
}

func (s *server) send(ctx context.Context, direct bool, reqs []int) []dispatch.Result[int] {
	sent := time.Now()
	s.mu.Lock()
	s.batches = append(s.batches, batch{direct, slices.Clone(reqs)})
	answered, outcomeKnown := true, true
	if len(s.script) > 0 {
		act := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		answered, outcomeKnown = act(ctx, direct, reqs)
	} else {
		if now := time.Now(); s.busyUntil.Before(now.Add(s.rtt / 2)) {
			s.busyUntil = now.Add(s.rtt / 2)
		}
		s.busyUntil = s.busyUntil.Add(time.Duration(len(reqs)) * s.perRequest)
		end := s.busyUntil.Add(s.rtt / 2)
		s.mu.Unlock()
		time.Sleep(time.Until(end))
	}
	results := make([]dispatch.Result[int], len(reqs))
	for i, n := range reqs {
		if answered {
			results[i] = dispatch.Result[int]{Value: 10 * n, Sent: sent}
		} else {
			results[i].Err = errSilent
		}
		results[i].OutcomeKnown = outcomeKnown
	}
	return results
}

// sent returns the batches so far.
func (s *server) sent() []batch {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.batches)
}

// slowCalls returns the number of calls of Slow.
func (s *server) slowCalls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slow
}

// mustDo sends a request that must be answered.
func (s *server) mustDo(t *testing.T, n int) {
	t.Helper()
	if r := s.Do(t.Context(), n, true); r.Err != nil || r.Value != 10*n || !r.OutcomeKnown {
		t.Errorf("%d: %+v", n, r)
	}
}

// idle fails the test unless nothing is queued or in flight.
func (s *server) idle(t *testing.T) {
	t.Helper()
	time.Sleep(timeout + 2*time.Second) // for what was abandoned
	synctest.Wait()
	if inFlight, queued := s.Counts(); queued != 0 || inFlight != 0 {
		t.Errorf("%d queued, %d in flight", queued, inFlight)
	}
}

// inBubble runs test in virtual time with a near server, which must be idle at the end.
func inBubble(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := near(t)
		test(t, s)
		s.idle(t)
	})
}
