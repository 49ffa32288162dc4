package shop

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// The load test of the original: 1,000 users call the annotated method ten times each,
// a tenth of a second apart. The count under the lock is exact, and the count without
// the lock misses updates. With four names among the users there are four locks, and
// each count is exact.
func TestOriginalUnderLoad(t *testing.T) {
	for _, names := range []int{1, 4} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { load(t, names) })
		})
	}
}

func load(t *testing.T, names int) {
	const users, loops = 1000, 10
	l := distlock.New(memlock.New(), distlock.Config{})
	UseLocker(l)
	c := &Counter{I: map[string]*int{}, Think: time.Millisecond}
	for i := range names {
		c.I[fmt.Sprint(i)] = new(int)
	}
	var all sync.WaitGroup
	for user := range users {
		all.Go(func() {
			for range loops {
				if err := c.Test(t.Context(), fmt.Sprint(user%names), 7, nil); err != nil {
					t.Error(err)
				}
				c.Free()
				<-time.After(100 * time.Millisecond)
			}
		})
	}
	all.Wait()
	for name, i := range c.I {
		t.Logf("i = %d for name %q, j = %d for all names", *i, name, c.J.Load())
		if *i != users*loops/names {
			t.Errorf("%s: %d of %d increments under the lock", name, *i, users*loops/names)
		}
	}
	if j := c.J.Load(); j >= users*loops {
		t.Errorf("%d of %d increments without the lock: the test tests nothing", j, users*loops)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	UseLocker(nil)
}
