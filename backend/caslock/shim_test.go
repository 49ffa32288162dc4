package caslock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock/driver"
)

type engine interface {
	driver.Backend
	driver.Extender
	driver.Inspector
	driver.Revoker
	driver.Pinger
	Close() error
	Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error)
	Turn(ctx context.Context, r driver.Request) <-chan driver.Grant
}

type shim struct{ engine }

func (s shim) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, err := s.Enqueue(ctx, r)
	if _, ok := err.(*driver.HeldError); !ok {
		return g, err
	}
	turn := s.Turn(ctx, r)
	for {
		d, ok := r.Backoff.Wait()
		if !ok {
			return g, err
		}
		t := time.NewTimer(d)
		for wait := true; wait; {
			select {
			case <-turn:
			case <-t.C:
				wait = false
			case <-ctx.Done():
				return g, fmt.Errorf("%w: %w", ctx.Err(), err)
			}
			g, err2 := s.Enqueue(ctx, r)
			if _, ok := err2.(*driver.HeldError); !ok {
				if err2 != nil && ctx.Err() != nil {
					return g, fmt.Errorf("%w: %w", ctx.Err(), err)
				}
				return g, err2
			}
			err = err2
		}
	}
}
