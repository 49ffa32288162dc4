package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// server is a simulated or a real Redis.
type server struct {
	*redis.Client
	mini    *miniredis.Miniredis // nil if the server is real
	real    *redistest.Server    // nil if the server is simulated
	variant                      // of scripts that a test runs
}

// eachServer runs f on the simulated server and on a real one.
func eachServer(t *testing.T, f func(t *testing.T, s server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		testmode.InRealTime(t) // over a socket, by the clock of the machine
		m := miniredis.RunT(t)
		c := redis.NewClient(&redis.Options{Addr: m.Addr()})
		t.Cleanup(func() { _ = c.Close() })
		f(t, server{Client: c, mini: m})
	})
	t.Run("redis", func(t *testing.T) {
		f(t, realServer(t))
	})
}

func realServer(t testing.TB, args ...string) server {
	t.Helper()
	s := redistest.Start(t, args...)
	return server{Client: s.Client(t), real: s}
}

// expire makes a key of the server expire now.
func (s server) expire(t testing.TB, key string) {
	t.Helper()
	if s.mini != nil {
		s.mini.FastForward(s.PTTL(t.Context(), key).Val())
		return
	}
	s.PExpire(t.Context(), key, time.Millisecond)
	testkit.Eventually(t, "the key ends", func() bool { return s.Exists(context.Background(), key).Val() == 0 })
}

// owner returns the owner of an exclusive lock, or "".
func (s server) owner(key string) string {
	owner, _, _ := strings.Cut(s.Get(context.Background(), key).Val(), " ")
	return owner
}

// dump returns all keys of the server and their values, as text.
func (s server) dump(t testing.TB) string {
	t.Helper()
	ctx := context.Background()
	var b strings.Builder
	keys := s.Keys(ctx, "*").Val()
	for _, k := range keys {
		switch typ := s.Type(ctx, k).Val(); typ {
		case "string":
			fmt.Fprintf(&b, "%s = %s\n", k, s.Get(ctx, k).Val())
		case "zset":
			fmt.Fprintf(&b, "%s = %v\n", k, s.ZRangeWithScores(ctx, k, 0, -1).Val())
		case "list":
			fmt.Fprintf(&b, "%s = %v\n", k, s.LRange(ctx, k, 0, -1).Val())
		default:
			fmt.Fprintf(&b, "%s is a %s\n", k, typ)
		}
	}
	return b.String()
}
