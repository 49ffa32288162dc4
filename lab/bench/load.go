package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// load is one run: JMeter's thread group with a constant timer.
type load struct {
	*config
	label   string
	locked  bool
	counted int64 // sum of the counters

	mu      sync.Mutex
	samples []sample // in the order in which they ended
}

// sample is what a user did once.
type sample struct {
	err     error // nil: the increment was confirmed
	start   time.Time
	elapsed time.Duration
}

// embedded is the -backend that is a Redis in this process.
const embedded = "embedded"

// load does a run. It opens the backend without the lock, too, because a bad -backend is a
// mistake in either case.
func (c *config) load(ctx context.Context, locked bool) (*load, error) {
	url := c.backend
	if url == embedded {
		server, err := miniredis.Run()
		if err != nil {
			return nil, err
		}
		defer server.Close()
		server.ClockTTL(true) // keys expire in real time
		url = "redis://" + server.Addr()
	}
	b, err := backendurl.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	l, err := c.loadOn(ctx, b.Backend, locked)
	return l, errors.Join(err, b.Close())
}

func (c *config) loadOn(ctx context.Context, b driver.Backend, locked bool) (*load, error) {
	locker := distlock.New(b, distlock.Config{MaxWaiters: 5 * c.users}) // a fifth for one key
	count := &counter{keys: make([]atomic.Int64, min(c.keys, c.users)), hold: c.hold}
	l := &load{config: c, label: "wrap no lock", locked: locked}
	test := count.add
	if locked {
		l.label, test = "wrap lock", distlock.Wrap(locker, count.add, testLock)
	}
	l.run(ctx, func(user int) error {
		// Use a new object each time: only its content is part of the key.
		_, err := test(ctx, testParams{S: "bench", N: user % c.keys, O: &struct{ Name string }{"object"}})
		return err
	})
	l.counted = count.sum()
	return l, locker.Close()
}

// run starts the users evenly over the ramp-up time, and returns when all samples are done.
// When ctx ends, no further sample begins, and one that fails then says nothing about the lock.
func (l *load) run(ctx context.Context, test func(user int) error) {
	var users sync.WaitGroup
	for i := range l.users {
		users.Go(func() {
			if !pause(ctx, time.Duration(float64(l.rampUp)*float64(i)/float64(l.users))) {
				return
			}
			for range l.loops {
				if !pause(ctx, l.think) {
					return
				}
				s := sample{start: time.Now()}
				s.err = test(i)
				s.elapsed = time.Since(s.start)
				if s.err == nil || ctx.Err() == nil {
					l.mu.Lock()
					l.samples = append(l.samples, s)
					l.mu.Unlock()
				}
			}
		})
	}
	users.Wait()
}

// pause waits for d. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// failed returns the number of failed samples, and the error of the first.
func (l *load) failed() (n int64, first error) {
	for _, s := range l.samples {
		if s.err != nil {
			n, first = n+1, cmp.Or(first, s.err)
		}
	}
	return n, first
}

// confirmed returns the number of confirmed increments.
func (l *load) confirmed() int64 {
	failed, _ := l.failed()
	return int64(len(l.samples)) - failed
}

// verdict returns an error if the run did not show what it should. Without the lock,
// lost increments are expected.
func (l *load) verdict() error {
	switch _, first := l.failed(); {
	case first != nil && l.confirmed() == 0:
		return fmt.Errorf("%s: all samples failed, the first with: %w", l.label, first)
	case l.locked && l.counted < l.confirmed():
		return fmt.Errorf("%s: %d increments lost in spite of the lock", l.label, l.confirmed()-l.counted)
	default:
		return nil
	}
}
