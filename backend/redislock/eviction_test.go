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
		g, err := b.TryAcquire(t.Context(), request("k"))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Eventually(t, "it warns", func() bool { return log.String() != "" })
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if got := log.String(); strings.Count(got, "level=WARN") != 1 || !strings.Contains(got, "volatile-lru") {
		t.Errorf("logged %q", got)
	}
}
