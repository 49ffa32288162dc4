package locktest_test

import (
	"context"
	"time"

	"github.com/distlock-go/distlock/driver"
)

var queueMutants = []mutant{
	{"tells-nobody", []string{"queue/in-order-of-arrival"}, func(s *spoiled) {
		s.turn = func(context.Context, driver.Request) <-chan driver.Grant { return nil }
	}},
	{"refuses-a-free-key", []string{"queue/free-key"}, func(s *spoiled) {
		s.enqueue = func(context.Context, driver.Request) (driver.Grant, error) {
			return driver.Grant{}, &driver.HeldError{}
		}
	}},
	{"forgets-places", []string{"queue/keeps-its-place"}, func(s *spoiled) {
		s.enqueue = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			g, err := s.Backend.Enqueue(ctx, r)
			if err != nil {
				_ = s.Backend.Release(ctx, r.Grant())
			}
			return g, err
		}
	}},
	{"waits-behind-itself", []string{"idempotence/same-owner-again"}, func(s *spoiled) {
		s.enqueue = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			if s.holds(ctx, r.Grant()) {
				r.Owner += "'"
			}
			return s.Backend.Enqueue(ctx, r)
		}
	}},
	{"does-not-see-renewals", []string{"queue/renewed-meanwhile"}, func(s *spoiled) {
		s.enqueue = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			time.AfterFunc(time.Second, func() { s.Drop(r.Key) })
			return s.Backend.Enqueue(ctx, r)
		}
	}},
	{"one-queue-for-all", []string{"queue/keys-are-apart"}, func(s *spoiled) {
		first := make(chan string, 1)
		s.enqueue = func(ctx context.Context, r driver.Request) (driver.Grant, error) {
			g, err := s.Backend.Enqueue(ctx, r)
			select {
			case first <- r.Key:
			default:
				if key := <-first; key != r.Key {
					_ = s.Backend.Release(ctx, r.Grant())
					err = &driver.HeldError{}
				}
			}
			return g, err
		}
	}},
	{"wakes-two", []string{"queue/in-order-of-arrival"}, func(s *spoiled) {
		s.release = func(ctx context.Context, g driver.Grant) error {
			err := s.Backend.Release(ctx, g)
			s.Drop(g.Key)
			return err
		}
	}},
}
