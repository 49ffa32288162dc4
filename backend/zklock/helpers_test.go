package zklock_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

// patience is how long a test waits for something that must happen soon.
const patience = 15 * time.Second

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Minute, Tokens: 1}
}

func parentOf(key string) string { return zklock.DefaultRoot + "/" + zklock.EscapeKey(key) }

func mustAcquire(tb testing.TB, b *zklock.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	g, err := b.TryAcquire(context.Background(), r)
	if err != nil {
		tb.Fatalf("TryAcquire of a free key: %v", err)
	}
	return g
}

func mustBeBusy(tb testing.TB, b *zklock.Backend, key string) {
	tb.Helper()
	if _, err := b.TryAcquire(context.Background(), request(key)); !errors.Is(err, driver.ErrNotAcquired) {
		tb.Fatalf("TryAcquire of a held key: %v", err)
	}
}

func mustRelease(tb testing.TB, b *zklock.Backend, g driver.Grant) {
	tb.Helper()
	if err := b.Release(context.Background(), g); err != nil {
		tb.Fatalf("Release by the holder: %v", err)
	}
}

// shortTimeout is the timeout of a Backend in tests of calls without an answer. On a
// slow machine other calls may get none in time either.
const shortTimeout = time.Second

// tryRepeatedly is mustAcquire for a Backend with a short timeout. It repeats calls that
// get no answer.
func tryRepeatedly(tb testing.TB, b *zklock.Backend, r driver.Request) (g driver.Grant) {
	tb.Helper()
	eventually(tb, patience, "it has the free key", func() (ok bool) {
		var err error
		if g, err = b.TryAcquire(context.Background(), r); errors.Is(err, driver.ErrNotAcquired) {
			tb.Fatalf("TryAcquire of a free key: %v", err)
		}
		return err == nil
	})
	return g
}

// releaseRepeatedly is mustRelease for a Backend with a short timeout.
func releaseRepeatedly(tb testing.TB, b *zklock.Backend, g driver.Grant) {
	tb.Helper()
	eventually(tb, patience, "the release is answered", func() bool {
		err := b.Release(context.Background(), g)
		if errors.Is(err, driver.ErrLost) {
			tb.Fatalf("Release by the holder: %v", err)
		}
		return err == nil
	})
}

// mustWork takes and releases a key with a Backend with a short timeout.
func mustWork(tb testing.TB, b *zklock.Backend, key string) {
	tb.Helper()
	releaseRepeatedly(tb, b, tryRepeatedly(tb, b, request(key)))
}

// drain returns when b has read all earlier replies of the server: they come in order.
func drain(tb testing.TB, b *zklock.Backend) {
	tb.Helper()
	mustRelease(tb, b, mustAcquire(tb, b, request("of "+uuid.NewString())))
}

func renewed(tb testing.TB, b *zklock.Backend, g driver.Grant) driver.RenewResult {
	tb.Helper()
	return driver.RenewAll(context.Background(), b, []driver.Grant{g})[0]
}

// waiter is a call of Acquire on a goroutine of its own.
type waiter struct {
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{}
	grant   driver.Grant
	err     error
}

// startWaiter starts a waiter. Unless r has a Backoff, it does not look by itself for an
// hour.
func startWaiter(tb testing.TB, b *zklock.Backend, r driver.Request) *waiter {
	tb.Helper()
	if r.Backoff == nil {
		r.Backoff = driver.NewBackoff(time.Hour, 0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiter{request: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		w.grant, w.err = b.Acquire(ctx, r)
		close(w.done)
	}()
	tb.Cleanup(func() {
		cancel()
		<-w.done
	})
	return w
}

func (w *waiter) served(tb testing.TB) driver.Grant {
	tb.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		tb.Fatal("the waiter does not get the key")
	}
	if w.err != nil {
		tb.Fatalf("Acquire: %v", w.err)
	}
	return w.grant
}

func (w *waiter) mustWait(tb testing.TB) {
	tb.Helper()
	select {
	case <-w.done:
		tb.Fatalf("Acquire returned early: %v", w.err)
	default:
	}
}

// register is a resource that a lock protects. Its checks fail if a token is not larger
// than the one before, or if two holders use it at the same time.
type register struct {
	users atomic.Int32
	token atomic.Uint64
	uses  atomic.Int64
}

func (r *register) begin(tb testing.TB, token uint64) {
	tb.Helper()
	if n := r.users.Add(1); n != 1 {
		tb.Errorf("%d holders at the same time", n)
	}
	if last := r.token.Swap(token); token <= last {
		tb.Errorf("token %d after token %d", token, last)
	}
	r.uses.Add(1)
}

func (r *register) end() { r.users.Add(-1) }

// byNumber sorts the names of nodes by their numbers.
func byNumber(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if a[len(a)-10:] < b[len(b)-10:] {
			return -1
		}
		return 1
	})
	return names
}
