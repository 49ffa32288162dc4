package zklock_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// TestNoServer: without a server the error says so, even if the caller's context ends
// first.
//
// Row 17 (zklock): the caller gets ErrUnavailable, even if its context ends first. Fails if
// Acquire drops the errors of its attempts when its context ends.
func TestNoServer(t *testing.T) {
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

// TestSilentServer: a server accepts connections and does not answer, as ZooKeeper 3.8 may
// do while it starts. The Backend tries another connection soon, even if its session is
// long.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialed := make(chan time.Time, 10)
		dial := func(string, string, time.Duration) (net.Conn, error) {
			dialed <- time.Now()
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }()
			return client, nil
		}
		newBackend(t, []string{"127.0.0.1:1"}, zklock.WithDialer(dial), zklock.WithSessionTimeout(time.Hour))
		first := <-dialed
		if d := (<-dialed).Sub(first); d > 6*time.Second {
			t.Errorf("the next connection is opened after %v", d)
		}
	})
}
