package redislock_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestEvictionWarning(t *testing.T) {
	t.Parallel()
	s := realServer(t, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	var log child.Output
	b := newBackend(t, s.Client, redislock.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	for range 3 {
		mustRelease(t, b, mustTry(t, b, request("k")))
	}
	testkit.Eventually(t, "it warns", func() bool { return log.String() != "" })
	noError(t, b.Close())
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "volatile-lru") {
		t.Errorf("logged %q", got)
	}
}
