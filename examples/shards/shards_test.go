package shards_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/shards"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestRun: workers come, go and are killed. Each time all shards have one worker soon, and
// the workers have the same number but for one. No shard ever has two.
func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, lease = 10, 3 * time.Second
		store := memlock.New()
		var mu sync.Mutex
		worker := map[int]string{} // by shard
		begin := func(name string) (stop func(), kill func()) {
			s := testkit.Wrap(store)
			l := testkit.NewLocker(t, s, distlock.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				done <- shards.Run(ctx, l, "mail", n, distlock.Opts{KeyTimeout: lease}, func(ctx context.Context, shard int) {
					mu.Lock()
					if other, busy := worker[shard]; busy {
						t.Errorf("%s and %s work on shard %d", other, name, shard)
					}
					worker[shard] = name
					mu.Unlock()
					<-ctx.Done()
					time.Sleep(10 * time.Millisecond) // the last mail
					mu.Lock()
					defer mu.Unlock()
					delete(worker, shard)
				})
			}()
			return func() {
					cancel()
					testkit.WantIs(t, <-done, context.Canceled)
				}, func() {
					s.Before(func(context.Context, *testkit.Call) error { return testkit.ErrBroken })
				}
		}
		want := func(after time.Duration, counts ...int) {
			t.Helper()
			time.Sleep(after)
			mu.Lock()
			defer mu.Unlock()
			by := map[string]int{}
			for _, name := range worker {
				by[name]++
			}
			if got := slices.Sorted(maps.Values(by)); !slices.Equal(got, counts) {
				t.Errorf("the workers have %v, want %v", got, counts)
			}
		}
		stopA, _ := begin("a")
		want(time.Second, n)
		stopB, _ := begin("b")
		_, killC := begin("c")
		want(5*time.Second, 3, 3, 4)
		stopB()
		want(2*time.Second, 5, 5)
		killC()
		want(lease+2*time.Second, n)
		for i := range 3 {
			stop, _ := begin(fmt.Sprint(i))
			t.Cleanup(stop)
		}
		want(5*time.Second, 2, 2, 3, 3)
		stopA()
		want(2*time.Second, 3, 3, 4)
	})
}
