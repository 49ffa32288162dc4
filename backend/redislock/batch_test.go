package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
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

// atOnce calls f with 0 to n-1, each in a goroutine of its own, and waits for all of
// them.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// A plain client of one master of a Cluster gets the locks on that master, and an error
// for the others.
func TestPlainClientOfACluster(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	masters := redistest.StartCluster(t, 2)
	b := newBackend(t, masters[0].Client(t))
	for range 5 {
		var here atomic.Int64
		atOnce(60, func(i int) {
			key := fmt.Sprint("k:", i)
			g, err := b.TryAcquire(t.Context(), request(key))
			if redislock.SlotOf(key) >= 16384/2 {
				if !redis.HasErrorPrefix(err, "MOVED") {
					t.Errorf("%s, which is elsewhere: %v", key, err)
				}
				return
			}
			here.Add(1)
			if err == nil {
				err = b.Release(t.Context(), g)
			}
			if err != nil {
				t.Errorf("%s: %v", key, err)
			}
		})
		if n := here.Load(); n == 0 || n == 60 {
			t.Fatalf("%d of 60 are here", n)
		}
	}
	nothingLeft(t, masters...)
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

// Concurrent calls share scripts. That each gets its own result is in
// isolation_test.go.
func TestCallsThatMeetShareScripts(t *testing.T) {
	s := realServer(t)
	b := newBackend(t, s.Client, redislock.Config{OpTimeout: 20 * time.Second})
	noError(t, b.Ping(t.Context())) // until it is known that this is one server, a script has one key
	const n = 500
	// meet makes n calls while the server is stopped, so that they come together.
	meet := func(what string, call func(i int) error) {
		t.Helper()
		before := s.scriptCalls(t)
		var come atomic.Int64
		var ended sync.WaitGroup
		s.real.Stop()
		ended.Go(func() {
			atOnce(n, func(i int) {
				come.Add(1)
				if err := call(i); err != nil {
					t.Errorf("%s of k%d: %v", what, i, err)
				}
			})
		})
		testkit.Eventually(t, "all have come", func() bool { return come.Load() == n })
		s.real.Cont()
		ended.Wait()
		if calls := s.scriptCalls(t) - before; calls > n/10 {
			t.Errorf("%d scripts for %d calls: %s", calls, n, what)
		}
	}
	grants := make([]driver.Grant, n)
	meet("acquisition", func(i int) (err error) {
		grants[i], err = b.TryAcquire(t.Context(), request("k"+strconv.Itoa(i)))
		return err
	})
	meet("release", func(i int) error { return b.Release(t.Context(), grants[i]) })
	testkit.Eventually(t, "all batchers are idle", func() bool { return b.InFlight() == 0 && b.Queued() == 0 })
}
