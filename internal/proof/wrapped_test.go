package proof_test

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/distlock-go/distlock/driver"
)

// calls counts the calls that a Backend has answered or received.
type calls struct{ attempts, releases atomic.Int64 }

// counted counts the calls of a Backend. Of the optional abilities it keeps only that
// of a Queuer.
type counted struct {
	driver.Backend
	calls *calls
}

// TryAcquire implements [driver.Backend].
func (c counted) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	defer c.calls.attempts.Add(1)
	return c.Backend.TryAcquire(ctx, r)
}

// Release implements [driver.Backend].
func (c counted) Release(ctx context.Context, g driver.Grant) error {
	c.calls.releases.Add(1)
	return c.Backend.Release(ctx, g)
}

// Close closes the Backend.
func (c counted) Close() error { return closeBackend(c.Backend) }

func closeBackend(b driver.Backend) error {
	if c, ok := b.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

type countedQueue struct {
	counted
	driver.Queuer
}

// count returns a Backend that counts the calls of b.
func count(b driver.Backend, n *calls) driver.Backend {
	c := counted{b, n}
	if q, ok := b.(driver.Queuer); ok {
		return countedQueue{c, q}
	}
	return c
}

// late is a Backend that calls after before it returns a grant.
type late struct {
	driver.Backend
	after func()
}

// TryAcquire implements [driver.Backend].
func (l late) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := l.Backend.TryAcquire(ctx, r)
	if err == nil {
		l.after()
	}
	return g, err
}

// Close closes the Backend.
func (l late) Close() error { return closeBackend(l.Backend) }

type lateQueue struct {
	late
	queuer driver.Queuer
}

// Acquire implements [driver.Queuer].
func (l lateQueue) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := l.queuer.Acquire(ctx, r)
	if err == nil {
		l.after()
	}
	return g, err
}

// delay returns a Backend that calls after before it returns a grant of b.
func delay(b driver.Backend, after func()) driver.Backend {
	l := late{b, after}
	if q, ok := b.(driver.Queuer); ok {
		return lateQueue{l, q}
	}
	return l
}
