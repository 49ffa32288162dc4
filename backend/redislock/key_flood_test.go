package redislock_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// flood has many goroutines of each locker lock n random keys, each once, or twice if
// two lockers choose the same.
func flood(t *testing.T, lockers []*distlock.Locker, workers, n int, name string) {
	t.Helper()
	kinds := []distlock.Opts{{}, {}, {}, {Mode: driver.Shared}, {Permits: 2}}
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			l := lockers[w%len(lockers)]
			for i := w / len(lockers); i < n; i += workers / len(lockers) {
				o := kinds[i%len(kinds)]
				o.Prefix, o.Value, o.ParamLock = "shop:", "pay", true
				// One key in eight is wanted by every locker.
				param := []any{name, i, w % len(lockers)}
				if i%8 == 0 {
					param = param[:2]
				}
				ran := false
				err := wiring.Bind(l, o).Do(t.Context(), param, func(context.Context) error { ran = true; return nil })
				if err != nil || !ran {
					t.Errorf("%v: %v, ran: %t", param, err, ran)
					return
				}
			}
		})
	}
	all.Wait()
}

// Processes die and leave what ends by itself.
//
// Row 21 (redislock): after the retention only the clock is left in Redis. Fails if
// tombstones are stored without an expiry.
func TestRetentionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		l := distlock.New(redislock.New(c, redislock.Config{}), distlock.Config{})
		defer l.Close()
		flood(t, []*distlock.Locker{l}, 8, 200, "virtual")
		if got := m.Keys(); !slices.Equal(got, []string{clockKey}) {
			t.Errorf("%d keys are left: %q", len(got), got[:min(len(got), 10)])
		}
		b := newBackend(t, c)
		for i := range 20 {
			dead := request("dead:" + strconv.Itoa(i)) // taken and abandoned, as by a process that dies
			must(b.TryAcquire(t.Context(), dead))
			waiter := request(dead.Key)
			_, err := testkit.Await(t.Context(), b, waiter, testkit.Looks{Every: time.Millisecond, Attempts: 2})
			matches(t, "a waiter", err, driver.ErrNotAcquired)

			taken := request("taken:" + strconv.Itoa(i))
			must(b.TryAcquire(t.Context(), taken))
			must(b.ForceRelease(t.Context(), taken.Key))
		}
		if got := len(m.Keys()); got != 1+3*20 {
			t.Errorf("%d keys", got)
		}
		time.Sleep(redislock.TombstoneTTL - time.Second)
		if got := len(m.Keys()); got != 1+20 {
			t.Errorf("%d keys a second before the end", got)
		}
		time.Sleep(2 * time.Second)
		if got := m.Keys(); !slices.Equal(got, []string{clockKey}) {
			t.Errorf("%d keys are left: %q", len(got), got[:min(len(got), 10)])
		}
	})
}
