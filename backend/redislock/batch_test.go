package redislock_test

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"testing"

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
	defer flusher.Wait()
	defer cancel()
	flusher.Go(func() {
		for ctx.Err() == nil {
			s.ScriptFlush(ctx)
		}
	})
	l.start(6, 2)
	l.goOn(1000)
	testkit.Eventually(t, "scripts were forgotten often", func() bool { return s.real.ErrorStat(t, "NOSCRIPT") > 20 })
	l.stop()
	nothingLeft(t, s.real)
}
