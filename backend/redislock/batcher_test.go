package redislock_test

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// scriptCalls returns how many scripts the server has run.
func (s server) scriptCalls(t testing.TB) int {
	t.Helper()
	n := 0
	for _, m := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(s.Info(t.Context(), "commandstats").Val(), -1) {
		n += must(strconv.Atoi(m[1]))
	}
	return n
}

// paused runs f while the server is stopped, so that the requests of f come together.
func (s server) paused(f func()) {
	s.real.Stop()
	defer s.real.Cont()
	f()
}

// Concurrent calls share scripts, and each gets its own result.
func TestCallsThatMeetShareScripts(t *testing.T) {
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.WithOpTimeout(20*time.Second))
	const n = 500
	s.RPush(t.Context(), "k7", "a foreign list")
	held := must(b.Acquire(t.Context(), request("k9")))

	before := s.scriptCalls(t)
	var all sync.WaitGroup
	var come atomic.Int64
	grants := make([]driver.Grant, n)
	errs := make([]error, n)
	s.paused(func() {
		for i := range n {
			all.Go(func() {
				come.Add(1)
				grants[i], errs[i] = b.TryAcquire(t.Context(), request("k"+strconv.Itoa(i)))
			})
		}
		testkit.Eventually(t, "all have come", func() bool { return come.Load() == n })
	})
	all.Wait()
	for i, err := range errs {
		switch {
		case i == 7:
			if !errors.Is(err, driver.ErrForeign) {
				t.Errorf("the foreign key: %v", err)
			}
		case i == 9:
			if !errors.Is(err, driver.ErrNotAcquired) {
				t.Errorf("the key that is held: %v", err)
			}
		case err != nil:
			t.Errorf("k%d: %v", i, err)
		case !strings.HasPrefix(s.Get(t.Context(), "k"+strconv.Itoa(i)).Val(), grants[i].Owner+" "):
			t.Errorf("k%d is not its owner's", i)
		}
	}
	if calls := s.scriptCalls(t) - before; calls > n/10 {
		t.Errorf("%d scripts for %d locks", calls, n)
	}

	before = s.scriptCalls(t)
	s.paused(func() {
		for i, g := range grants {
			if errs[i] == nil {
				all.Go(func() {
					come.Add(1)
					errs[i] = b.Release(t.Context(), g)
				})
			}
		}
		testkit.Eventually(t, "all have come", func() bool { return come.Load() == 2*n-2 })
	})
	all.Wait()
	for i, err := range errs {
		if i != 7 && i != 9 && err != nil {
			t.Errorf("release of k%d: %v", i, err)
		}
	}
	if calls := s.scriptCalls(t) - before; calls > n/10 {
		t.Errorf("%d scripts for %d releases", calls, n)
	}
	if err := b.Release(t.Context(), held); err != nil {
		t.Error(err)
	}
	testkit.Eventually(t, "all batchers are idle", func() bool { return b.InFlight() == 0 && b.Queued() == 0 })
}
