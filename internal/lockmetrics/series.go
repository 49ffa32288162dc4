package lockmetrics

import (
	"context"
	"sync/atomic"
	"time"
)

// Series has the measurements of the locks with one name and mode. It is safe for concurrent
// use.
type Series struct {
	Name, Mode string // the labels

	Waiting atomic.Int64 // acquisitions under way
	Held    atomic.Int64 // locks held
	Renewed atomic.Int64 // renewals so far
	Failed  atomic.Int64 // renewals that failed so far
	Losses  atomic.Int64 // so far

	waits, holds times
}

// Observe records a time in a histogram. It gets the context of the caller of the
// acquisition, and is called concurrently.
type Observe func(ctx context.Context, seconds float64)

// Histogram returns the histogram of a name, a mode and an outcome. It may be called more than
// once for them, and concurrently.
type Histogram func(name, mode, outcome string) Observe

// times has a histogram for each outcome, made when it is first used: each is many series.
type times struct {
	histogram Histogram
	made      [outcomes]atomic.Pointer[Observe]
}

func (t *times) observe(ctx context.Context, s *Series, d time.Duration, o Outcome) {
	observe := t.made[o].Load()
	if observe == nil {
		made := t.histogram(s.Name, s.Mode, o.String())
		observe = &made
		t.made[o].Store(observe)
	}
	(*observe)(ctx, d.Seconds())
}
