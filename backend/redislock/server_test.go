package redislock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// clockKey has the last token that the server has issued. In a Cluster there is one for
// each slot, with a tag in braces behind it.
const clockKey = redislock.ClockKey

// goneKey has the owners whose late attempts are refused.
const goneKey = "{" + lockKey + "}:gone"

// modes are the ways to hold a key. One holder of a mode keeps the exclusive ones out.
var modes = map[string]func(key string) driver.Request{
	"exclusive": request,
	"shared":    reader,
	"permits":   func(key string) driver.Request { return permit(key, 1) },
}

// server is a simulated or a real Redis.
type server struct {
	*redis.Client
	mini    *miniredis.Miniredis // nil if the server is real
	real    *redistest.Server    // nil if the server is simulated
	variant                      // of scripts that a test runs
	t       *testing.T           // of a test of scripts
}

// eachServer runs f on the simulated server, in virtual time, and on a real one.
func eachServer(t *testing.T, f func(t *testing.T, s server)) {
	t.Helper()
	testkit.InBubble(t, "miniredis", func(t *testing.T) {
		m := redistest.Virtual(t)
		f(t, server{Client: redistest.VirtualClient(t, m), mini: m})
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
		time.Sleep(s.PTTL(t.Context(), key).Val() + time.Millisecond) // it is rounded down
		return
	}
	s.PExpire(t.Context(), key, time.Millisecond)
	testkit.Eventually(t, "the key ends", func() bool { return s.Exists(context.Background(), key).Val() == 0 })
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
