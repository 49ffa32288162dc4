package etcdlock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Many goroutines use a few keys, while requests and their answers are lost and late. No
// two of them have a key at the same time, tokens rise, and at the end nothing is left.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]bool{"calm": false, "spoiled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, c, s := newSpoiled(t)
			const goroutines, keys, visits = 60, 20, 5
			var registers [keys]testkit.Register
			var visitors sync.WaitGroup
			for i := range goroutines {
				visitors.Go(func() {
					key := i % keys
					for range visits {
						g := acquireAnyway(t, b, testkit.NewRequest(t.Name()+"/"+strconv.Itoa(key)))
						registers[key].Enter(t, g.Key, g.Token)
						registers[key].Leave(g.Key, g.Token)
						testkit.ReleaseRepeatedly(t, b, g)
					}
				})
			}
			spoiling, stop := context.WithCancel(context.Background())
			var spoiler sync.WaitGroup
			if spoil {
				spoiler.Go(func() {
					for late := true; spoiling.Err() == nil; late = !late {
						s.spoilNext("Txn", late)
						time.Sleep(5 * time.Millisecond)
					}
				})
			}
			visitors.Wait()
			stop()
			spoiler.Wait()
			s.spoilNext("", false)
			etcdlock.WaitForSweeper(t, b)
			if spoil {
				s.send(t)
			}
			for key := range keys {
				if left := places(t, c, t.Name()+"/"+strconv.Itoa(key)); len(left) > 0 {
					t.Errorf("left in etcd: %q", left)
				}
				if n := registers[key].Uses(); n != goroutines/keys*visits {
					t.Errorf("%d visits", n)
				}
			}
			if n := etcdlock.Slots(b); n != 0 {
				t.Errorf("%d keys have slots", n)
			}
		})
	}
}

// acquireAnyway repeats an attempt until it is answered. The waiter looks by itself only
// when the test has failed already.
func acquireAnyway(tb testing.TB, b *etcdlock.Backend, r driver.Request) driver.Grant {
	tb.Helper()
	r.Backoff = driver.NewBackoff(2*patience, 0)
	for start := time.Now(); ; {
		g, err := b.Acquire(context.Background(), r)
		switch {
		case err == nil && time.Since(start) > 2*patience:
			tb.Errorf("a waiter was served after %v", time.Since(start))
			return g
		case err == nil:
			return g
		case errors.Is(err, driver.ErrNotAcquired):
			tb.Errorf("Acquire: %v", err)
		}
	}
}
