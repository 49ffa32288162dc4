package locktest_test

import (
	"context"
	"errors"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var queueMutants = []mutant{
	{"polls-by-the-backoff", []string{"queue/in-order-of-arrival"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			g, err := s.Backend.Acquire(ctx, r)
			if d, ok := r.Backoff.Wait(); ok && err == nil {
				time.Sleep(d) // it learns of the grant when it looks again
			}
			return g, err
		}
	}},
	{"forgets-places", []string{"queue/keeps-its-place"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			g, err := s.Backend.Acquire(ctx, r)
			if err != nil {
				_ = s.Backend.Release(ctx, r.Grant())
			}
			return g, err
		}
	}},
	{"waits-behind-itself", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if s.holds(ctx, r.Grant()) {
				r.Owner += "'"
			}
			return s.Backend.Acquire(ctx, r)
		}
	}},
	{"always-waits-first", []string{"queue/free-key"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if _, ok := r.Backoff.Wait(); !ok {
				return driver.Grant{}, &driver.HeldError{}
			}
			return s.Backend.Acquire(ctx, r)
		}
	}},
	{"never-gives-up", []string{"queue/budget"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			r.Backoff = nil
			return s.Backend.Acquire(ctx, r)
		}
	}},
	{"gives-up-early", []string{"queue/budget"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			r.Backoff = driver.NewBackoff(50*time.Millisecond, 2)
			return s.Backend.Acquire(ctx, r)
		}
	}},
	{"does-not-see-renewals", []string{"queue/renewed-meanwhile"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			defer time.AfterFunc(time.Second, func() { s.Drop(r.Key) }).Stop()
			return s.Backend.Acquire(ctx, r)
		}
	}},
	{"one-queue-for-all", []string{"queue/keys-are-apart"}, func(s *spoiled) {
		turn := make(chan struct{}, 1)
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				return s.Backend.Acquire(ctx, r)
			case <-ctx.Done():
				return driver.Grant{}, ctx.Err()
			}
		}
	}},
	{"wakes-two", []string{"queue/in-order-of-arrival", "locker/crowd"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			err := s.Backend.Release(ctx, g)
			s.Drop(g.Key)
			return err
		}
	}},
	{"does-not-see-the-context", []string{"cancel/while-waiting"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			return s.Backend.Acquire(context.WithoutCancel(ctx), r)
		}
	}},
	{"hides-the-context-error", []string{"cancel/while-waiting", "cancel/before-the-call"}, func(s *spoiled) {
		s.acquire = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			g, err := s.Backend.Acquire(ctx, r)
			if err != nil && ctx.Err() != nil {
				err = errors.New("interrupted")
			}
			return g, err
		}
	}},
}
