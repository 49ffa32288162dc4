package distlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// unfenced is a store without tokens.
type unfenced struct{ *store }

func (u unfenced) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := u.store.TryAcquire(ctx, r)
	g.Token, g.LastToken = 0, 0
	return g, err
}

func (u unfenced) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := u.store.Acquire(ctx, r)
	g.Token, g.LastToken = 0, 0
	return g, err
}

func TestFencing(t *testing.T) {
	o := distlock.Opts{Fencing: true}
	never := func(context.Context) error { panic("ran without a token") }
	bubble(t, func(t *testing.T, l *distlock.Locker, s *store) {
		wantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error {
			if lease, _ := distlock.FromContext(ctx); lease.Token() == 0 {
				t.Error("no token")
			}
			return nil
		}))
		bare := distlock.New(unfenced{s}, distlock.Config{})
		defer closeLocker(t, bare)
		for _, o.RetryCount = range []int{0, 1, 5} {
			before := len(s.seen("wait")) + len(s.seen("try"))
			err := bare.Do(t.Context(), "k", o, never)
			wantIs(t, err, distlock.ErrNoFencing)
			if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Op != "acquire" || e.Key != "k" {
				t.Errorf("got %#v", err)
			}
			if n := len(s.seen("wait")) + len(s.seen("try")) - before; n != 1 {
				t.Errorf("RetryCount %d: %d attempts", o.RetryCount, n)
			}
			if !s.free(t, "k") || bare.Keys() != 0 || bare.Watched() != 0 {
				t.Errorf("RetryCount %d: free %v, %d keys, %d watched", o.RetryCount, s.free(t, "k"), bare.Keys(), bare.Watched())
			}
		}
		// released in the background if there is no answer
		s.fail("release")
		wantIs(t, bare.Do(t.Context(), "k", o, never), distlock.ErrNoFencing)
		s.fail()
		time.Sleep(time.Second)
		if !s.free(t, "k") {
			t.Error("not given back")
		}
		// without the option it works as before
		wantIs(t, bare.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error { return ctx.Err() }))
	})
}

// A lock without a token in this process is refused as well: on re-entry, and on a
// hand-over, where it goes to the next waiter.
func TestFencingOfWhatIsHere(t *testing.T) {
	o := distlock.Opts{Fencing: true}
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := distlock.New(unfenced{s}, distlock.Config{})
		defer closeLocker(t, l)
		held := mustAcquire(t, l, "k", distlock.Opts{})
		_, err := l.Acquire(held.Context(), "k", o)
		wantIs(t, err, distlock.ErrNoFencing)
		wantIs(t, held.Check())

		var all sync.WaitGroup
		all.Go(func() {
			_, err := l.Acquire(t.Context(), "k", o)
			wantIs(t, err, distlock.ErrNoFencing)
		})
		synctest.Wait()
		served := false
		line(t, &all, l, 1, distlock.Opts{}, func(context.Context, int) { served = true })
		wantIs(t, held.Release(t.Context()))
		all.Wait()
		if n := len(s.seen("wait")); n != 1 || !served || !s.free(t, "k") || l.Keys() != 0 || l.Watched() != 0 {
			t.Errorf("%d acquisitions, served %v, free %v, %d keys, %d watched", n, served, s.free(t, "k"), l.Keys(), l.Watched())
		}
	})
}
