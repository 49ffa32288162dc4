package rediskit_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

func TestWarnOfEviction(t *testing.T) {
	for info, want := range map[string]bool{
		"# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:volatile-lru\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:noeviction\r\n":          false,
		"# Memory\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-random\r\n":      true,
		"# Memory\r\nmaxmemory_human:1M\r\nmaxmemory_policy:allkeys-random\r\n": false,
		"": false,
	} {
		var log bytes.Buffer
		rediskit.WarnOfEviction(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), "pkg", "addr", info)
		if got := log.String(); (got != "") != want {
			t.Errorf("%q: logged %q", info, got)
		}
	}
}
