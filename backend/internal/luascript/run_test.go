package luascript_test

import (
	"slices"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// The source is sent only if the server does not know the hash, and each of the two
// once.
func TestRun(t *testing.T) {
	m := miniredis.RunT(t)
	var mu sync.Mutex
	var sent []string
	hangUpAt := ""
	m.Server().SetPreHook(func(c *server.Peer, name string, _ ...string) bool {
		if name != "EVAL" && name != "EVALSHA" {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, name)
		if name == hangUpAt {
			c.Close()
		}
		return name == hangUpAt
	})
	c := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: 5})
	defer c.Close()
	s := luascript.Load(fstest.MapFS{"main.lua": {Data: []byte("return {KEYS[1], ARGV[1], ARGV[2]}")}}, "main.lua", nil)
	for _, step := range []struct {
		name, hangUpAt string
		flush          bool
		want           []string
	}{
		{"unknown", "", false, []string{"EVALSHA", "EVAL"}},
		{"known", "", false, []string{"EVALSHA"}},
		{"no answer", "EVALSHA", false, []string{"EVALSHA"}},
		{"unknown, then no answer", "EVAL", true, []string{"EVALSHA", "EVAL"}},
	} {
		mu.Lock()
		hangUpAt, sent = step.hangUpAt, nil
		mu.Unlock()
		if step.flush {
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		cmd := s.Run(t.Context(), c, []string{"key"}, 1, "two")
		reply, err := cmd.StringSlice()
		mu.Lock()
		switch {
		case hangUpAt == "" && (err != nil || !slices.Equal(reply, []string{"key", "1", "two"})):
			t.Errorf("%s: %q, %v", step.name, reply, err)
		case hangUpAt != "" && (err == nil || rediskit.FateOf(err) != rediskit.Unknown):
			t.Errorf("%s: %q, %v", step.name, reply, err)
		}
		if !slices.Equal(sent, step.want) || cmd.Sent() != 1 {
			t.Errorf("%s: the server got %q, want %q; sent %d times", step.name, sent, step.want, cmd.Sent())
		}
		mu.Unlock()
	}
}
