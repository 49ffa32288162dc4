package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

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

// A value of another program at the key of a lock, or of its companions, is neither
// treated as ours nor changed by any operation: the error names it. At the key of the
// lock it is a lock of another kind, which is not a failure of the store.
//
// Row 22 (redislock): an error names the value, and the value is not changed. Fails if
// a foreign type counts as a free lock.
func TestForeignValues(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	types := map[string]func(s server, key string){
		"list": func(s server, key string) { s.RPush(context.Background(), key, "a", "b") },
		"set":  func(s server, key string) { s.SAdd(context.Background(), key, "a", "b") },
		"hash": func(s server, key string) { s.HSet(context.Background(), key, "a", "b") },
		"stream": func(s server, key string) {
			s.XAdd(context.Background(), &redis.XAddArgs{Stream: key, Values: []string{"a", "b"}})
		},
		"sorted set": func(s server, key string) { s.ZAdd(context.Background(), key, redis.Z{Score: 1, Member: "a"}) },
	}
	text := func(s server, key string) { s.Set(context.Background(), key, "something else", 0) }
	type place struct {
		put  func(s server, key string)
		is   error
		says string
	}
	places := make(map[string]map[string]place)
	for key, says := range map[string]string{
		lockKey:  "held by another kind of lock: a %s",
		queueKey: `: the queue "{shop:pay}:queue" is a %s`,
		goneKey:  `: the set of tombstones "{shop:pay}:gone" is a %s`,
	} {
		is := distlock.ErrUnavailable
		if key == lockKey {
			is = driver.ErrNotAcquired
		}
		places[key] = make(map[string]place)
		for name, put := range types {
			places[key][name] = place{put, is, fmt.Sprintf(says, name)}
		}
	}
	places[clockKey] = make(map[string]place)
	for name, put := range types {
		places[clockKey][name] = place{put, distlock.ErrUnavailable, "BADCLOCK the value of distlock:clock is not a token"}
	}
	delete(places[queueKey], "sorted set") // the type of a queue
	delete(places[goneKey], "sorted set")
	places[clockKey]["text"] = place{text, distlock.ErrUnavailable, "BADCLOCK"}
	places[queueKey]["text"] = place{text, distlock.ErrUnavailable, `: the queue "{shop:pay}:queue" is a string`}
	places[goneKey]["text"] = place{text, distlock.ErrUnavailable, `: the set of tombstones "{shop:pay}:gone" is a string`}

	s := realServer(t)
	for key, foreign := range places {
		for name, p := range foreign {
			t.Run(key+"/"+name, func(t *testing.T) {
				s.FlushAll(t.Context())
				p.put(s, key)
				before := s.contents(t)
				b := newBackend(t, s.Client)
				locker := distlock.New(redislock.New(s.Client, unhurried), distlock.Config{})
				defer locker.Close()
				for _, o := range []distlock.Opts{{}, {Mode: driver.Shared}, {Permits: 2}} {
					o.KeyTimeout, o.RetryInterval = 300*time.Millisecond, 10*time.Millisecond
					_, err := locker.TryAcquire(t.Context(), lockKey, o)
					matches(t, "TryAcquire", err, p.is)
					says(t, "TryAcquire", err, p.says)
					o.RetryCount = 3
					_, err = locker.Acquire(t.Context(), lockKey, o)
					matches(t, "Acquire", err, p.is)
					says(t, "Acquire", err, p.says)
					if foreign := errors.Is(err, driver.ErrForeign); foreign != (key == lockKey) {
						t.Errorf("Acquire: %v is of another kind of lock: %v", err, foreign)
					}
				}
				if key != clockKey { // to take a free lock away needs no token
					if held, err := admin.ForceRelease(t.Context(), locker, lockKey); held || errors.Is(err, driver.ErrForeign) != (key == lockKey) || errors.Is(err, distlock.ErrUnavailable) == (key == lockKey) {
						t.Errorf("ForceRelease: %v, %v", held, err)
					}
				}
				for _, r := range []driver.Request{request(lockKey), reader(lockKey), permit(lockKey, 2)} {
					g := r.Grant()
					g.Token, g.LastToken = 1, 1
					renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all(driver.Lost))
					if err := b.Release(t.Context(), g); err == nil || key == lockKey && !errors.Is(err, driver.ErrLost) {
						t.Errorf("what is another's was released: %v", err)
					}
				}
				if err := locker.Close(); err != nil { // its background work has ended
					t.Error(err)
				}
				for k, v := range s.contents(t) {
					if before[k] != v && (k != clockKey || key == clockKey) { // a token may be issued that is not used
						t.Errorf("%s was changed or made", k)
					}
					delete(before, k)
				}
				for k := range before {
					t.Errorf("%s was removed", k)
				}
			})
		}
	}
}

// A string at the key is a lock of another library. A waiter gets the key after that
// lock has ended, and not before.
//
// Row 22 (redislock): the lock of another library is held, and ends when that library
// releases it. Fails if a release does not check the owner.
func TestLockOfAnotherKit(t *testing.T) {
	s := realServer(t)
	b := newBackend(t, s.Client)
	s.Set(t.Context(), lockKey, "of redislock or Spring", time.Hour)
	for _, r := range []driver.Request{request(lockKey), reader(lockKey), permit(lockKey, 2)} {
		_, err := b.TryAcquire(t.Context(), r)
		matches(t, "TryAcquire", err, driver.ErrNotAcquired)
		g := r.Grant()
		g.Token, g.LastToken = 1, 1
		renewed(t, driver.RenewAll(t.Context(), b, []driver.Grant{g}), all(driver.Lost))
		matches(t, "Release", b.Release(t.Context(), g), driver.ErrLost)
	}
	if v, ttl := s.Get(t.Context(), lockKey).Val(), s.TTL(t.Context(), lockKey).Val(); v != "of redislock or Spring" || ttl < 50*time.Minute {
		t.Errorf("the other kit's lock is %q, for %v", v, ttl)
	}
	r := request(lockKey)
	r.Backoff = driver.NewBackoff(20*time.Millisecond, 0)
	w := acquire(t.Context(), b, r)
	testkit.Eventually(t, "it waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
	s.Del(t.Context(), lockKey)
	<-w.done
	if w.err != nil {
		t.Fatal(w.err)
	}
	mustRelease(t, b, w.grant)
	nothingLeft(t, s.real)
}
