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

// patience bounds what must happen soon.
const patience = 15 * time.Second

func request(key string) driver.Request {
	return driver.Request{Key: key, Owner: uuid.NewString(), TTL: 10 * time.Minute, Tokens: 1}
}

func parentOf(key string) string { return zklock.DefaultRoot + "/" + zklock.EscapeKey(key) }

func mustTry(tb testing.TB, b *zklock.Backend, r driver.Request) driver.Grant {
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

// impatience is the timeout of a Backend whose calls get no answer in a test. Now and
// then they get none in time on a machine that is slow.
const impatience = time.Second

// tryLong is mustTry for a Backend that is impatient: its calls can be repeated.
func tryLong(tb testing.TB, b *zklock.Backend, r driver.Request) (g driver.Grant) {
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

// releaseLong is mustRelease for a Backend that is impatient.
func releaseLong(tb testing.TB, b *zklock.Backend, g driver.Grant) {
	tb.Helper()
	eventually(tb, patience, "the release is answered", func() bool {
		err := b.Release(context.Background(), g)
		if errors.Is(err, driver.ErrLost) {
			tb.Fatalf("Release by the holder: %v", err)
		}
		return err == nil
	})
}

// isUp returns when a Backend that is impatient has had a key and released it.
func isUp(tb testing.TB, b *zklock.Backend, key string) {
	tb.Helper()
	releaseLong(tb, b, tryLong(tb, b, request(key)))
}

// hearsAll returns when b has heard what the server has answered so far: that comes
// in order.
func hearsAll(tb testing.TB, b *zklock.Backend) {
	tb.Helper()
	mustRelease(tb, b, mustTry(tb, b, request("of "+uuid.NewString())))
}

func renewed(tb testing.TB, b *zklock.Backend, g driver.Grant) driver.RenewResult {
	tb.Helper()
	return driver.RenewAll(context.Background(), b, []driver.Grant{g})[0]
}

// inLine is an Acquire on a goroutine of its own.
type inLine struct {
	request driver.Request
	cancel  context.CancelFunc
	done    chan struct{}
	grant   driver.Grant
	err     error
}

// queue starts an Acquire that does not look by itself for a long time.
func queue(tb testing.TB, b *zklock.Backend, r driver.Request) *inLine {
	tb.Helper()
	if r.Backoff == nil {
		r.Backoff = driver.NewBackoff(time.Hour, 0)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &inLine{request: r, cancel: cancel, done: make(chan struct{})}
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

func (w *inLine) served(tb testing.TB) driver.Grant {
	tb.Helper()
	select {
	case <-w.done:
	case <-time.After(patience):
		tb.Fatal("not served")
	}
	if w.err != nil {
		tb.Fatalf("Acquire: %v", w.err)
	}
	return w.grant
}

func (w *inLine) mustWait(tb testing.TB) {
	tb.Helper()
	select {
	case <-w.done:
		tb.Fatalf("a waiter was answered out of turn: %v", w.err)
	default:
	}
}

// register is what a lock protects. It refuses tokens that are not larger than the
// one before, and notices when two are inside at once.
type register struct {
	inside atomic.Int32
	token  atomic.Uint64
	visits atomic.Int64
}

func (r *register) enter(tb testing.TB, token uint64) {
	tb.Helper()
	if n := r.inside.Add(1); n != 1 {
		tb.Errorf("%d hold the key at once", n)
	}
	if last := r.token.Swap(token); token <= last {
		tb.Errorf("token %d after token %d", token, last)
	}
	r.visits.Add(1)
}

func (r *register) leave() { r.inside.Add(-1) }

// inOrder returns the names of nodes in the order of their numbers.
func inOrder(names []string) []string {
	slices.SortFunc(names, func(a, b string) int {
		if a[len(a)-10:] < b[len(b)-10:] {
			return -1
		}
		return 1
	})
	return names
}
