package distlock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

func TestFencing(t *testing.T) {
	o := distlock.Opts{Fencing: true}
	never := func(context.Context) error { panic("ran without a token") }
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		wantIs(t, l.Do(t.Context(), "k", o, func(ctx context.Context) error {
			if lease, _ := distlock.FromContext(ctx); lease.Token() == 0 {
				t.Error("no token")
			}
			return nil
		}))
		s.LimitTokens(0)
		bare := testkit.NewLocker(t, s, distlock.Config{})
		for _, o.RetryCount = range []int{0, 1, 5} {
			before := len(s.Calls(testkit.Wait)) + len(s.Calls(testkit.Try))
			err := bare.Do(t.Context(), "k", o, never)
			wantIs(t, err, distlock.ErrNoFencing)
			if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Op != "acquire" || e.Key != "k" {
				t.Errorf("got %#v", err)
			}
			if n := len(s.Calls(testkit.Wait)) + len(s.Calls(testkit.Try)) - before; n != 1 {
				t.Errorf("RetryCount %d: %d attempts", o.RetryCount, n)
			}
			if !s.Free(t, "k") || bare.Keys() != 0 || bare.Watched() != 0 {
				t.Errorf("RetryCount %d: free %v, %d keys, %d watched", o.RetryCount, s.Free(t, "k"), bare.Keys(), bare.Watched())
			}
		}
		// released in the background if there is no answer
		s.Fail(testkit.ErrBroken, testkit.Release)
		wantIs(t, bare.Do(t.Context(), "k", o, never), distlock.ErrNoFencing)
		s.Fail(nil)
		time.Sleep(time.Second)
		if !s.Free(t, "k") {
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
		s := testkit.NewStore()
		s.LimitTokens(0)
		l := testkit.NewLocker(t, s, distlock.Config{})
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
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
		if n := len(s.Calls(testkit.Wait)); n != 1 || !served || !s.Free(t, "k") || l.Keys() != 0 || l.Watched() != 0 {
			t.Errorf("%d acquisitions, served %v, free %v, %d keys, %d watched", n, served, s.Free(t, "k"), l.Keys(), l.Watched())
		}
	})
}
