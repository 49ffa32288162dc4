package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// takeAll acquires many locks at once and returns the results.
func takeAll(b driver.Backend, keys []string) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(keys)), make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		wg.Go(func() { grants[i], errs[i] = b.TryAcquire(context.Background(), request(key)) })
	}
	wg.Wait()
	return grants, errs
}

func giveAll(t *testing.T, b driver.Backend, grants []driver.Grant) {
	t.Helper()
	var wg sync.WaitGroup
	for _, g := range grants {
		wg.Go(func() {
			if err := b.Release(context.Background(), g); err != nil {
				t.Errorf("%s: release: %v", g.Key, err)
			}
		})
	}
	wg.Wait()
}

// A plain client of one master of a Cluster gets the locks on that master, and an error
// for the others.
func TestPlainClientOfACluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	c := &redistest.Cluster{Masters: redistest.StartCluster(t, 2)}
	b := newBackend(t, c.Masters[0].Client(t))
	for range 5 {
		var keys []string
		for i := range 60 {
			keys = append(keys, fmt.Sprint("k:", i))
		}
		grants, errs := takeAll(b, keys)
		var here []driver.Grant
		for i, err := range errs {
			there := c.Slot(t, keys[i]) >= 16384/2
			if there && !redis.HasErrorPrefix(err, "MOVED") || !there && err != nil {
				t.Errorf("%s, elsewhere %v: %v", keys[i], there, err)
			}
			if err == nil {
				here = append(here, grants[i])
			}
		}
		if len(here) == 0 || len(here) == len(keys) {
			t.Fatalf("%d of %d are here", len(here), len(keys))
		}
		giveAll(t, b, here)
	}
	nothingLeft(t, c.Masters...)
}

// The server forgets its scripts repeatedly.
//
// Row 16 (redislock): all waiters are served, tokens rise, every release gets a reply.
// Fails if a script that the server has forgotten is not sent again each time.
func TestScriptsForgottenUnderLoad(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	l := newLoadWith(t, loadOpts.KeyTimeout, loadKeys(8), s.real.Client(t), s.real.Client(t))
	ctx, cancel := context.WithCancel(t.Context())
	var flusher sync.WaitGroup
	var flushes atomic.Int64
	defer flusher.Wait()
	defer cancel()
	flusher.Go(func() {
		for ctx.Err() == nil {
			if err := s.ScriptFlush(ctx).Err(); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			flushes.Add(1)
		}
	})
	l.start(6, 2)
	l.goOn(1000)
	testkit.Eventually(t, "scripts were forgotten often", func() bool { return flushes.Load() > 100 && s.real.ErrorStat(t, "NOSCRIPT") > 20 })
	l.stop()
	if n := l.told("released"); n != l.reg.Uses() {
		t.Errorf("%d served, told %v", l.reg.Uses(), l.errors)
	}
	nothingLeft(t, s.real)
}

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
