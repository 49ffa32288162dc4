package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// contents returns all keys of the server with their values, in the server's own
// format.
func (s server) contents(t testing.TB) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, k := range s.Keys(context.Background(), "*").Val() {
		all[k] = s.Dump(context.Background(), k).Val()
	}
	return all
}

// A value of another program is at the key of a lock, or of its companions. At the key
// of the lock, such as a hash of Redisson, it is not a failure of the store: the error
// says by what the key is held and for how long.
//
// Row 22 (redislock): an error names the value, and the value is not changed. Fails if
// a foreign type counts as a free lock.
func TestForeignValues(t *testing.T) {
	scores := func(members ...redis.Z) func(ctx context.Context, s server, key string) redis.Cmder {
		return func(ctx context.Context, s server, key string) redis.Cmder { return s.ZAdd(ctx, key, members...) }
	}
	types := map[string]func(ctx context.Context, s server, key string) redis.Cmder{
		"list": func(ctx context.Context, s server, key string) redis.Cmder { return s.RPush(ctx, key, "a", "b") },
		"set":  func(ctx context.Context, s server, key string) redis.Cmder { return s.SAdd(ctx, key, "a", "b") },
		"hash": func(ctx context.Context, s server, key string) redis.Cmder { return s.HSet(ctx, key, "a", "b") },
		"stream": func(ctx context.Context, s server, key string) redis.Cmder {
			return s.XAdd(ctx, &redis.XAddArgs{Stream: key, Values: []string{"a", "b"}})
		},
		"sorted set":                 scores(redis.Z{Score: 1, Member: "a"}),
		"sorted set, first foreign":  scores(redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 9e15, Member: "r a1"}),
		"sorted set, last foreign":   scores(redis.Z{Score: 1, Member: "r a1"}, redis.Z{Score: 9e15, Member: "a"}),
		"sorted set, almost like us": scores(redis.Z{Score: 9e15, Member: "r a b"}),
		"string": func(ctx context.Context, s server, key string) redis.Cmder {
			return s.Set(ctx, key, "something else", 0)
		},
	}
	for key, c := range map[string]struct {
		own, says string // the type of our values; what an error says
	}{
		lockKey:  {"string", "held by another kind of lock: a %s, 59m"},
		queueKey: {"sorted set", `: the queue "{shop:pay}:queue" is a %s`},
		goneKey:  {"sorted set", `: the set of tombstones "{shop:pay}:gone" is a %s`},
		clockKey: {"", "BADCLOCK the value of distlock:clock is not a token"},
	} {
		is := distlock.ErrUnavailable
		if key == lockKey {
			is = driver.ErrNotAcquired
		}
		for name, put := range types {
			kind, _, _ := strings.Cut(name, ",")
			if kind == c.own {
				continue
			}
			t.Run(key+"/"+name, func(t *testing.T) {
				eachServer(t, func(t *testing.T, s server) {
					if s.real != nil {
						testmode.Long(t)
					}
					noError(t, put(t.Context(), s, key).Err())
					s.Expire(t.Context(), key, time.Hour-time.Second)
					before := s.contents(t)
					b := newBackend(t, s.Client)
					locker := distlock.New(redislock.New(s.Client, unhurried), distlock.Config{})
					defer locker.Close()
					text := strings.ReplaceAll(c.says, "%s", kind)
					for _, o := range []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 2}} {
						o.KeyTimeout, o.RetryInterval, o.RetryCount = 300*time.Millisecond, 10*time.Millisecond, 2
						_, err := locker.TryAcquire(t.Context(), lockKey, o)
						matches(t, "TryAcquire", err, is)
						says(t, "TryAcquire", err, text)
						_, err = locker.Acquire(t.Context(), lockKey, o)
						matches(t, "Acquire", err, is)
						says(t, "Acquire", err, text)
					}
					if key != clockKey { // to take a free lock away needs no token
						held, err := admin.ForceRelease(t.Context(), locker, lockKey)
						if held || errors.Is(err, driver.ErrForeign) != (key == lockKey) || errors.Is(err, distlock.ErrUnavailable) == (key == lockKey) {
							t.Errorf("ForceRelease: %v, %v", held, err)
						}
					}
					if key == lockKey {
						_, err := b.Extend(t.Context(), request(lockKey).Grant(), 1)
						matches(t, "Extend", err, driver.ErrLost)
					}
					for _, ask := range modes {
						r := ask(lockKey)
						g := r.Grant()
						g.Token, g.LastToken = 1, 1
						renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all("lost"))
						if err := b.Release(t.Context(), g); err == nil || key == lockKey && !errors.Is(err, driver.ErrLost) {
							t.Errorf("what is another's was released: %v", err)
						}
					}
					noError(t, locker.Close()) // its background work has ended
					after := s.contents(t)
					if key != clockKey { // a token may be issued that is not used
						delete(after, clockKey)
					}
					if !maps.Equal(after, before) {
						t.Errorf("it changed something:\n%s", s.dump(t))
					}
				})
			})
		}
	}
}

// A refused caller gets the holder and how long it has had the lock, in one round trip,
// and also if its context ends during the wait.
func TestRefusalNamesTheHolder(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		owner := uuid.NewString() + "@web-3/1432"
		at := func(ago time.Duration) int64 { return s.Time(ctx).Val().Add(-ago).UnixMicro() }
		for name, c := range map[string]struct {
			value, holder string
			held          time.Duration
		}{
			"ours":              {fmt.Sprintf("%s %016d", owner, at(time.Minute)), "web-3/1432", time.Minute}, // the token is the time of the grant
			"clock set back":    {fmt.Sprintf("%s %016d", owner, at(-time.Hour)), "web-3/1432", 0},
			"without a token":   {owner, "web-3/1432", 0},
			"another library's": {"of redislock or Spring", "", 0},
			"a short token":     {"a1 17", "", 0},
			"a long value":      {strings.Repeat("x", 161), "", 0},
		} {
			noError(t, s.Set(ctx, lockKey, c.value, time.Hour).Err())
			for _, ask := range modes {
				_, err := b.TryAcquire(ctx, ask(lockKey))
				var held *driver.HeldError
				if !errors.As(err, &held) || held.Holder != c.holder || held.RetryAfter <= 0 || held.RetryAfter > time.Hour+time.Millisecond {
					t.Errorf("%s: %+v", name, err)
				} else if held.Held < c.held || held.Held > 3*c.held {
					t.Errorf("%s: held for %v", name, held.Held)
				}
				if s.mini == nil {
					continue // the server has the waiter in its queue before the waiter has the answer
				}
				r := ask(lockKey)
				w := testkit.StartWaiter(t, b, r)
				synctest.Wait()
				w.Cancel()
				<-w.Done
				if !errors.Is(w.Err, context.Canceled) || !errors.As(w.Err, &held) || held.Holder != c.holder {
					t.Errorf("%s: a waiter: %v", name, w.Err)
				}
				matches(t, "its release", b.Release(ctx, r.Grant()), driver.ErrLost)
			}
		}
	})
}
