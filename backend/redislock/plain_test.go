package redislock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// sentCommands notes the names of the commands that a client sends.
type sentCommands struct {
	mu    sync.Mutex
	names []string

	// between is called once, when the server has received the first command of a plain
	// attempt alone.
	between func()

	// swallows is set to lose the next script that the client sends, once.
	swallows bool
}

var commandName = regexp.MustCompile(`\*\d+\r\n\$\d+\r\n(\w+)\r\n`)

// over makes the client note its commands.
func (s *sentCommands) over(o *redis.Options) {
	dial := o.Dialer
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		return noted{c, s}, err
	}
}

// take returns the names since the last call, in one text.
func (s *sentCommands) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.names, " ")
	s.names = nil
	return text
}

// noted is a connection of such a client.
type noted struct {
	net.Conn

	sent *sentCommands
}

// Write implements [net.Conn]. A client writes whole commands.
func (c noted) Write(p []byte) (int, error) {
	c.sent.mu.Lock()
	for _, match := range commandName.FindAllSubmatch(p, -1) {
		c.sent.names = append(c.sent.names, string(match[1]))
	}
	between := c.sent.between
	if c.sent.swallows && bytes.Contains(p, []byte("evalsha")) {
		c.sent.swallows = false
		c.sent.mu.Unlock()
		return len(p), nil
	}
	c.sent.mu.Unlock()
	first := bytes.Index(p, []byte("*3\r\n$6\r\nincrby"))
	if between == nil || first < 0 {
		return c.Conn.Write(p)
	}
	c.sent.between = nil
	if n, err := c.Conn.Write(p[:first]); err != nil {
		return n, err
	}
	synctest.Wait()
	between()
	n, err := c.Conn.Write(p[first:])
	return first + n, err
}

// plainly has a Backend that is about to make a plain attempt.
type plainly struct {
	*redis.Client // another one

	b    *redislock.Backend
	sent *sentCommands
}

// plain runs f in a bubble with a Backend that has just locked another key with
// scripts.
func plain(t *testing.T, f func(t *testing.T, p plainly)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		sent := new(sentCommands)
		c := redistest.VirtualClient(t, m, sent.over)
		p := plainly{redistest.VirtualClient(t, m), newBackend(t, c), sent}
		for range 3 { // in a batch; with the source of the script; with its hash
			p.pair(t, "other")
			time.Sleep(time.Millisecond)
		}
		p.sent.take()
		f(t, p)
	})
}

// pair acquires and releases the key. It returns the token.
func (p plainly) pair(t *testing.T, key string) uint64 {
	t.Helper()
	g := p.acquire(t, key)
	mustRelease(t, p.b, g)
	return g.Token
}

func (p plainly) acquire(t *testing.T, key string) driver.Grant {
	t.Helper()
	g, err := testkit.Await(t.Context(), p.b, request(key), testkit.Looks{})
	noError(t, err)
	return g
}

const plainPair = "set incrby exists evalsha"

// A lock that nobody else wants takes three plain commands and one script, and leaves nothing.
func TestPlain(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		last := uint64(0)
		for range 50 {
			token, g := p.pair(t, lockKey), mustTry(t, p.b, request(lockKey))
			if mustRelease(t, p.b, g); token <= last || g.Token <= token {
				t.Fatalf("the tokens %d and %d follow %d", token, g.Token, last)
			}
			last = g.Token
		}
		want := strings.TrimSuffix(strings.Repeat(plainPair+" ", 100), " ")
		if got := p.sent.take(); got != want {
			t.Errorf("sent %q instead of %q", got, want)
		}
		if keys := p.Keys(t.Context(), "*").Val(); !slices.Equal(keys, []string{redislock.ClockKey}) {
			t.Errorf("%q are left", keys)
		}
	})
}

// The clock must not lag: a replica that becomes the master may lack its last
// increments. So after a pause a script sets it to the server's time.
func TestPlainClockLag(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		p.pair(t, lockKey)
		time.Sleep(20*time.Millisecond + time.Microsecond)
		p.sent.take()
		if token, now := p.pair(t, lockKey), p.Time(t.Context()).Val(); int64(token) > now.UnixMicro() || now.UnixMicro()-int64(token) > 1100 {
			t.Errorf("the token is %d, and it is %d", token, now.UnixMicro())
		}
		if got := p.sent.take(); got != "evalsha evalsha" {
			t.Errorf("sent %q", got)
		}
	})
}

// A plain attempt issues no token if the clock was lost, is not a number, or is that of
// another server, which is behind. It issues none that another attempt has.
func TestPlainBadClock(t *testing.T) {
	value := func(text string) func(uint64) string { return func(uint64) string { return text } }
	behind := func(by uint64) func(uint64) string {
		return func(last uint64) string { return fmt.Sprint(last - by) }
	}
	for name, c := range map[string]struct {
		clock func(last uint64) string
		fails bool
	}{
		"lost": {value(""), false}, "a few increments": {value("7"), false},
		"a token less": {behind(1), false}, "the first reading": {behind(3), false}, "a second less": {behind(1e6), false},
		"word": {value("word"), true}, "the end": {value("9007199254740991"), true},
	} {
		t.Run(name, func(t *testing.T) {
			plain(t, func(t *testing.T, p plainly) {
				p.pair(t, lockKey)
				p.pair(t, lockKey)
				before := p.pair(t, lockKey)
				time.Sleep(10 * time.Microsecond)
				p.Del(t.Context(), redislock.ClockKey)
				if clock := c.clock(before); clock != "" {
					p.Set(t.Context(), redislock.ClockKey, clock, 0)
				}
				r := request(lockKey)
				g, err := p.b.Enqueue(t.Context(), r)
				switch {
				case c.fails:
					if !redis.HasErrorPrefix(err, "BADCLOCK") {
						t.Errorf("got %+v, %v", g, err)
					}
					g = r.Grant()
				case err != nil || g.Token <= before:
					t.Errorf("got the token %d after %d, %v", g.Token, before, err)
				}
				_ = p.b.Release(t.Context(), g)
				if n := p.Exists(t.Context(), lockKey).Val(); n != 0 {
					t.Error("the lock is left")
				}
			})
		})
	}
}

// A plain attempt leaves what is in its way to the scripts.
func TestPlainYields(t *testing.T) {
	for name, c := range map[string]struct {
		before func(p plainly)
		holder string // in the end; "" if the attempt is successful
	}{
		"a holder": {func(p plainly) { p.Set(context.Background(), lockKey, "x 0946684800000001", testTTL) }, "x"},
		"a waiter": {func(p plainly) { p.ZAdd(context.Background(), queueKey, redis.Z{Score: 1, Member: "in:w1"}) }, "w1"},
		"the tombstones of others": {func(p plainly) {
			p.ZAdd(context.Background(), "{shop:pay}:gone", redis.Z{Score: float64(time.Now().UnixMicro()), Member: "x"})
		}, ""},
		"an attempt that came late": {func(p plainly) {
			p.ZAdd(context.Background(), "{shop:pay}:gone", redis.Z{Score: float64(time.Now().UnixMicro()), Member: "x"})
			p.Set(context.Background(), lockKey, "x ~0946684800000001", testTTL)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			plain(t, func(t *testing.T, p plainly) {
				c.before(p)
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				r := request(lockKey)
				g, err := p.b.Enqueue(ctx, r)
				if c.holder == "" && err != nil || c.holder != "" && !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("got %+v, %v", g, err)
				}
				holder, _, _ := strings.Cut(p.Get(t.Context(), lockKey).Val(), " ")
				if want := c.holder; want == "" && holder != r.Owner || want != "" && holder != want {
					t.Errorf("the lock is held by %q", holder)
				}
				_ = p.b.Release(t.Context(), r.Grant())
			})
		})
	}
}

// Whoever releases a lock by force between the commands of a plain attempt, its owner
// learns that it does not have it, and its tokens are not above those of the next
// owner.
func TestPlainForced(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		admin := newBackend(t, p.Client)
		next := request(lockKey)
		p.sent.between = func() {
			if held, err := admin.ForceRelease(t.Context(), lockKey); !held || err != nil {
				t.Error(held, err)
			}
			mustTry(t, admin, next)
		}
		if g, err := p.b.Enqueue(t.Context(), request(lockKey)); !redis.HasErrorPrefix(err, "GONE") {
			t.Errorf("got %+v, %v", g, err)
		}
		if holder := p.Get(t.Context(), lockKey).Val(); !strings.HasPrefix(holder, next.Owner) {
			t.Errorf("the lock is held by %q", holder)
		}
	})
}

// Others see since when somebody has a lock that was taken with plain commands, though
// not its token. They do not see a lock that nobody has.
func TestPlainInspect(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		start := time.Now()
		p.acquire(t, lockKey)
		time.Sleep(time.Second)
		infos, err := p.b.Inspect(t.Context(), "shop:", 10)
		if err != nil || len(infos) != 1 || len(infos[0].Holders) != 1 {
			t.Fatalf("%+v, %v", infos, err)
		}
		if h := infos[0].Holders[0]; h.Token != 0 || start.Sub(h.Since).Abs() > 20*time.Millisecond {
			t.Errorf("the holder is %+v, and it has had the lock since %v", h, start)
		}
		held := new(driver.HeldError)
		if _, err := p.b.TryAcquire(t.Context(), request(lockKey)); !errors.As(err, &held) || (held.Held-time.Second).Abs() > 21*time.Millisecond {
			t.Errorf("refused with %v: %+v", err, held)
		}
		owner, _, _ := strings.Cut(p.Get(t.Context(), lockKey).Val(), " ")
		p.ZAdd(t.Context(), "{shop:pay}:gone", redis.Z{Score: float64(time.Now().UnixMicro()), Member: owner})
		if infos, err := p.b.Inspect(t.Context(), "shop:", 10); err != nil || len(infos) != 0 {
			t.Errorf("nobody has the lock, but listed is %+v, %v", infos, err)
		}
	})
}

// The tombstone of an owner outlives each plain copy of its attempt: a long lease is
// left to the scripts.
func TestPlainLongLease(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		for ttl, want := range map[time.Duration]bool{redislock.TombstoneTTL / 2: true, redislock.TombstoneTTL/2 + time.Millisecond: false} {
			r := request(lockKey)
			r.TTL = ttl
			g, err := p.b.Enqueue(t.Context(), r)
			noError(t, err)
			mustRelease(t, p.b, g)
			if got := p.sent.take(); strings.Contains(got, "incrby") != want {
				t.Errorf("for %v it sent %q", ttl, got)
			}
		}
	})
}

// A key that somebody else has is left to the scripts, until nobody does.
func TestPlainWanted(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		p.Set(t.Context(), lockKey, "x", 50*time.Millisecond)
		p.pair(t, lockKey)
		got := p.sent.take()
		time.Sleep(time.Millisecond)
		p.pair(t, lockKey)
		if again := p.sent.take(); strings.Count(got, "set incrby") != 1 || again != plainPair {
			t.Errorf("sent %q, and then %q", got, again)
		}
	})
}

// An attempt that is still on its way could give back what a plain attempt has taken.
// So an owner with an attempt in doubt leaves it to the scripts.
func TestPlainInDoubt(t *testing.T) {
	plain(t, func(t *testing.T, p plainly) {
		r := request(lockKey)
		p.b.Doubt(r.Owner)
		g, err := p.b.Enqueue(t.Context(), r)
		noError(t, err)
		mustRelease(t, p.b, g)
		if got := p.sent.take(); strings.Contains(got, "incrby") {
			t.Errorf("sent %q", got)
		}
	})
}

// A lock that the plain commands took is given back if the script cannot look at its
// queue.
func TestPlainUndone(t *testing.T) {
	for name, c := range map[string]struct {
		swallows bool
		sent     string
	}{
		"refused at once":                {false, "set incrby exists evalsha evalsha eval"},
		"refused when it was sent again": {true, "set incrby exists evalsha hello client client evalsha evalsha eval"},
	} {
		t.Run(name, func(t *testing.T) {
			plain(t, func(t *testing.T, p plainly) {
				p.HSet(t.Context(), queueKey, "not", "a queue")
				p.sent.swallows = c.swallows
				if _, err := p.b.Enqueue(t.Context(), request(lockKey)); err == nil || errors.Is(err, driver.ErrNotAcquired) {
					t.Error(err)
				}
				if got := p.sent.take(); !strings.HasPrefix(got, c.sent) {
					t.Errorf("sent %q", got)
				}
				if value, err := p.Get(t.Context(), lockKey).Result(); err == nil {
					t.Errorf("%q is left", value)
				}
			})
		})
	}
}
