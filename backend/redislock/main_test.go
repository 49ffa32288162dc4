package redislock_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testmode"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(readersEnv); addr != "" {
		if err := beReaders(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if args := os.Getenv(crowdEnv); args != "" {
		if err := beCrowd(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testmode.AtATime(8)
	// go-redis tries to reach a dead server once a second, and notices only then that
	// the client was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// server is a simulated or a real Redis.
type server struct {
	*redis.Client
	mini    *miniredis.Miniredis // nil if the server is real
	real    *redistest.Server    // nil if the server is simulated
	variant                      // of scripts that a test runs
}

// eachServer runs f on the simulated server and on a real one, parallel to other tests.
func eachServer(t *testing.T, f func(t *testing.T, s server)) {
	t.Helper()
	t.Parallel()
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
	eventually(t, "the key ends", func() bool { return s.Exists(context.Background(), key).Val() == 0 })
}

// eventually waits until cond is true, if a real server or the scheduler decides when.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute) // only a failing test waits that long
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("it never came true that %s", what)
		}
		<-tick.C
	}
}

// unhurried is a timeout that is longer than the pauses of a slow machine, for tests
// that do not test timeouts.
var unhurried = redislock.WithOpTimeout(10 * time.Second)

// newBackend returns a Backend with the timeout unhurried, unless opts change it.
func newBackend(t testing.TB, c redis.UniversalClient, opts ...redislock.Option) *redislock.Backend {
	t.Helper()
	b := redislock.New(c, append([]redislock.Option{unhurried}, opts...)...)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if n := b.Waiters(); n != 0 {
			t.Errorf("%d waiters left", n)
		}
	})
	return b
}

func request(key string) driver.Request {
	return driver.Request{
		Key: key, Owner: uuid.NewString(), TTL: 10 * time.Second, Tokens: 1,
		Backoff: driver.NewBackoff(5*time.Second, 0),
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
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

// scriptCall matches a call of any script, for a network that delays one.
func scriptCall(written []byte) bool { return bytes.Contains(written, []byte("evalsha")) }
