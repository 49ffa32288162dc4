package redislock_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
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
		for i := range n {
			ended.Go(func() {
				come.Add(1)
				if err := call(i); err != nil {
					t.Errorf("%s of k%d: %v", what, i, err)
				}
			})
		}
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

// The server forgets its scripts repeatedly.
//
// Row 16 (redislock): all waiters are served, and tokens rise.
// Fails if a script that the server has forgotten is not sent again each time.
func TestScriptsForgottenUnderLoad(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	l := newLoad(t, loadKeys(8), s.real.Client(t), s.real.Client(t))
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
	nothingLeft(t, s.real)
}
