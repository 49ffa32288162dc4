package memlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// askFor returns a request that waits as long as it takes, in a mode or for a permit.
func askFor(owner string, mode driver.Mode, permits int) driver.Request {
	r := ask("key", owner)
	r.Mode, r.Permits = mode, permits
	return r
}

// RetryAfter is the time until the request could be granted without renewals: for a
// permit until the first lease ends, for a writer until the last one ends.
func TestHintAmongMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			mode    driver.Mode
			permits int
			ask     driver.Request
			want    time.Duration
		}{
			{driver.Exclusive, 2, askFor("one more", driver.Exclusive, 2), 3 * time.Second},
			{driver.Exclusive, 2, askFor("writer", driver.Exclusive, 0), ttl},
			{driver.Shared, 0, askFor("writer", driver.Exclusive, 0), ttl},
		} {
			b := memlock.New()
			short := askFor("short", c.mode, c.permits)
			short.TTL = 3 * time.Second
			testkit.MustTry(t, b, short)
			testkit.MustTry(t, b, askFor("long", c.mode, c.permits))
			_, err := b.TryAcquire(t.Context(), c.ask)
			held, ok := errors.AsType[*driver.HeldError](err)
			if !ok || held.RetryAfter != c.want {
				t.Errorf("%+v: %v, want %v", c, err, c.want)
			}
		}
	})
}

// A grant says whether other waiters are left in the queue.
func TestContended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memlock.New()
		g := testkit.MustTry(t, b, askFor("first", driver.Exclusive, 0))
		if g.Contended {
			t.Error("contended, without a waiter")
		}
		grants := make(chan driver.Grant, 4)
		for _, r := range []driver.Request{
			askFor("reader 1", driver.Shared, 0), askFor("reader 2", driver.Shared, 0),
			askFor("writer", driver.Exclusive, 0), askFor("reader 3", driver.Shared, 0),
		} {
			go func() {
				g, err := b.Acquire(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				grants <- g
			}()
			synctest.Wait()
		}
		if again := testkit.MustTry(t, b, askFor("first", driver.Exclusive, 0)); !again.Contended {
			t.Error("not contended, with waiters")
		}
		testkit.MustRelease(t, b, g)
		for i, want := range []bool{true, true, true, false} {
			g := <-grants
			if g.Contended != want {
				t.Errorf("grant %d, of %s: contended %v", i, g.Owner, g.Contended)
			}
			testkit.MustRelease(t, b, g)
		}
		mustBeEmpty(t, b)
	})
}

func TestNothingRemainsInAnyMode(t *testing.T) {
	b := memlock.New()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 500 {
				r := askFor(strconv.Itoa(i)+"/"+strconv.Itoa(j), driver.Mode(j%2), (j+1)%2*rand.N(4))
				ctx, cancel := context.WithCancel(t.Context())
				if j%3 == 0 {
					go cancel()
				}
				_, _ = b.Acquire(ctx, r)
				cancel()
				if err := b.Release(t.Context(), r.Grant()); err != nil && !errors.Is(err, driver.ErrLost) {
					t.Errorf("Release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	mustBeEmpty(t, b)
}
