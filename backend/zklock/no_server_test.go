package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// TestRow17NoServer: without a server the error says so, even if the caller's context ends
// first.
//
// Row 17 (zklock): the caller gets ErrUnavailable, even if its context ends first. Fails if
// Acquire drops the errors of its attempts when its context ends.
func TestRow17NoServer(t *testing.T) {
	t.Parallel()
	b := newBackend(t, []string{"127.0.0.1:1"}, zklock.WithOpTimeout(50*time.Millisecond))
	locker := distlock.New(b, distlock.Config{})
	defer locker.Close()
	opts := distlock.Opts{KeyTimeout: 2 * time.Second, RetryInterval: 20 * time.Millisecond}
	_, err := locker.TryAcquire(context.Background(), "key", opts)
	if !errors.Is(err, distlock.ErrUnavailable) || errors.Is(err, driver.ErrNotAcquired) {
		t.Errorf("TryAcquire: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = locker.Acquire(ctx, "key", opts)
	for _, want := range []error{distlock.ErrUnavailable, driver.ErrNotAcquired, context.DeadlineExceeded} {
		if !errors.Is(err, want) {
			t.Errorf("Acquire: %v, want %v", err, want)
		}
	}
}
