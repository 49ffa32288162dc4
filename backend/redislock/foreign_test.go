package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// Redisson keeps its locks in hashes. A key that has such a lock is held, and the error
// of every operation says by what and for how long.
func TestForeignLock(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		s.HSet(ctx, lockKey, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1")
		s.PExpire(ctx, lockKey, 30*time.Second)

		check := func(what string, err error) {
			t.Helper()
			matches(t, what, err, driver.ErrNotAcquired)
			if !errors.Is(err, driver.ErrForeign) || !regexp.MustCompile(`a hash, [\d.]+s left`).MatchString(err.Error()) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for _, r := range []driver.Request{request(lockKey), reader(lockKey), permit(lockKey, 2)} {
			start := time.Now()
			_, err := b.TryAcquire(ctx, r)
			check("TryAcquire", err)
			r.Backoff = driver.NewBackoff(time.Millisecond, 3)
			_, err = b.Acquire(ctx, r)
			check("Acquire", err)
			if n := b.InDoubt(); n != 0 && s.mini != nil && time.Since(start) < resend { // nothing was sent again
				t.Errorf("%d owners in doubt about what was refused", n)
			}
			g := r.Grant()
			g.Token, g.LastToken = 1, 1
			renewed(t, driver.RenewAll(ctx, b, []driver.Grant{g}), all(driver.Lost))
			matches(t, "Release", b.Release(ctx, g), driver.ErrLost)
		}
		_, err := b.ForceRelease(ctx, lockKey)
		check("ForceRelease", err)
		_, err = b.Extend(ctx, request(lockKey).Grant(), 1)
		matches(t, "Extend", err, driver.ErrLost)

		_, err = admin.ForceRelease(ctx, distlock.New(b, distlock.Config{}), lockKey)
		check("ForceRelease by a Locker", err)
	})
}

// lookHook calls f with the number of each pipeline that asks for the type of a key.
type lookHook struct {
	n int
	f func(n int)
}

func (*lookHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*lookHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *lookHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if cmds[0].Name() == "type" {
			h.n++
			h.f(h.n)
		}
		return next(ctx, cmds)
	}
}

// A waiter whose context ends while it asks what is at the key knows that from the
// attempt before.
func TestVirtualContextEndsDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		c := redistest.VirtualClient(t, m)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c.AddHook(&lookHook{f: func(n int) {
			if n == 2 {
				cancel()
			}
		}})
		b := newBackend(t, c)
		c.HSet(t.Context(), lockKey, "redisson", "1")
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(5*time.Millisecond, 0)
		_, err := b.Acquire(ctx, r)
		matches(t, "Acquire", err, driver.ErrForeign, driver.ErrNotAcquired, context.Canceled)
	})
}

// A waiter keeps checking a lock of another kind until its wait budget is spent, and
// gets the lock when the other lock is gone.
func TestForeignLockIsWaitedFor(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		s.HSet(t.Context(), lockKey, "redisson", "1")
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(5*time.Millisecond, 0)
		w := acquire(t.Context(), b, r)
		before := must(s.TTL(t.Context(), lockKey).Result())
		testkit.Eventually(t, "it waits", func() bool { return b.Waiters() == 1 })
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := b.Acquire(ctx, request(lockKey))
		matches(t, "whose context ends", err, driver.ErrNotAcquired, context.DeadlineExceeded)
		if !errors.Is(err, driver.ErrForeign) {
			t.Errorf("whose context ends: %v", err)
		}
		if after := s.TTL(t.Context(), lockKey).Val(); after != before {
			t.Errorf("the lock has %v to live instead of %v", after, before)
		}
		s.Del(t.Context(), lockKey)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		mustRelease(t, b, w.grant)
	})
}

// A string of an application does not count as a lock because a waiter waits for its
// key, or because the key had a lock before.
func TestForceReleaseOfAnApplicationsValue(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		g := must(b.TryAcquire(t.Context(), request(lockKey)))
		mustRelease(t, b, g)
		s.Set(t.Context(), lockKey, "precious", 0)
		w := acquire(t.Context(), b, request(lockKey))
		testkit.Eventually(t, "it waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })

		held, err := b.ForceRelease(t.Context(), lockKey)
		if held || !errors.Is(err, driver.ErrForeign) {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
		if got := s.Get(t.Context(), lockKey).Val(); got != "precious" {
			t.Errorf("the value is %q", got)
		}
		for _, info := range mustInspect(t, b, lockKey[:3]) {
			if info.Held != 0 || info.Waiting != 1 {
				t.Errorf("listed %+v", info)
			}
		}
		infos := mustInspect(t, b, lockKey)
		if len(infos) != 1 || infos[0].Foreign != "string" || infos[0].Held != 1 || infos[0].Waiting != 1 || infos[0].Holders[0].ExpiresIn != 0 {
			t.Errorf("by its key: %+v", infos)
		}
		s.Del(t.Context(), lockKey)
		<-w.done
		if w.err != nil {
			t.Fatal(w.err)
		}
		mustRelease(t, b, w.grant)
	})
}

// Inspect with the exact key shows any value that blocks the lock, with its type and
// its expiry. Strings that expire are records shared with other libraries.
func TestInspectExactKey(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		ctx := t.Context()
		s.Set(ctx, "redsync", "n0tAUu1D/value==", time.Hour)
		s.Set(ctx, "shedlock", "ADDED:2026-11-22T09:43:32.000Z@web-3", time.Hour)
		s.Set(ctx, "semaphore", "3", 0)
		s.HSet(ctx, "redisson", "a", "1")
		s.PExpire(ctx, "redisson", time.Hour)
		s.RPush(ctx, "list", "a")
		s.Set(ctx, "{brace", "a", time.Hour)
		mine := request("mine")
		mine.Owner = uuid.NewString() + "@web-3/1432"
		must(b.TryAcquire(ctx, mine))

		for key, want := range map[string]struct {
			foreign, holder string
			ends            bool
		}{
			"redsync":   {"", "", true},
			"shedlock":  {"", "", true},
			"semaphore": {"string", "", false},
			"redisson":  {"hash", "", true},
			"list":      {"list", "", false},
			"mine":      {"", "web-3/1432", true},
		} {
			infos := mustInspect(t, b, key)
			if len(infos) != 1 || infos[0].Key != key || infos[0].Held != 1 || len(infos[0].Holders) != 1 {
				t.Errorf("%s: %+v", key, infos)
				continue
			}
			h := infos[0].Holders[0]
			if infos[0].Foreign != want.foreign || h.Holder != want.holder || h.ExpiresIn > 0 != want.ends || h.ExpiresIn > time.Hour {
				t.Errorf("%s: %+v", key, infos[0])
			}
		}
		for _, key := range []string{"nothing", "{brace"} {
			if infos := mustInspect(t, b, key); len(infos) != 0 {
				t.Errorf("%s: %+v", key, infos)
			}
		}
		if got, want := keysOf(mustInspect(t, b, "")), []string{"mine"}; !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
	})
}

// Owners with a name are recognised without a token.
func TestInspectNamedOwnerWithoutToken(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		r := request(lockKey)
		s.Set(t.Context(), lockKey, r.Owner+"@web-3.example/1432", r.TTL)
		infos := mustInspect(t, b, lockKey[:3])
		if len(infos) != 1 || infos[0].Held != 1 || infos[0].Holders[0].Holder != "web-3.example/1432" {
			t.Fatalf("listed %+v", infos)
		}
		if held, err := b.ForceRelease(t.Context(), lockKey); !held || err != nil {
			t.Errorf("ForceRelease: %v, %v", held, err)
		}
	})
}

// A refused caller gets the holder and how long it has had the lock, in one round trip,
// and also if its context ends during the wait.
func TestRefusalNamesTheHolder(t *testing.T) {
	eachServer(t, func(t *testing.T, s server) {
		b := newBackend(t, s.Client)
		r := request(lockKey)
		r.Owner += "@web-3/1432"
		// The token is the time of the grant.
		since := s.Time(t.Context()).Val().Add(-time.Minute).UnixMicro()
		s.Set(t.Context(), lockKey, fmt.Sprintf("%s %016d", r.Owner, since), r.TTL)

		check := func(what string, err error, holder string) {
			t.Helper()
			held := new(driver.HeldError)
			if !errors.As(err, &held) || held.Holder != holder || held.RetryAfter <= 0 || held.RetryAfter > r.TTL {
				t.Errorf("%s: %+v", what, err)
			}
			if known := holder != ""; known != (held.Held >= time.Minute) || held.Held > 3*time.Minute {
				t.Errorf("%s: held for %v", what, held.Held)
			}
		}
		for _, other := range []driver.Request{request(lockKey), reader(lockKey), permit(lockKey, 2)} {
			_, err := b.TryAcquire(t.Context(), other)
			check("TryAcquire", err, "web-3/1432")
			// The server has the waiter in its queue before the waiter has the answer.
			testkit.Eventually(t, "a waiter that leaves has heard of the holder", func() bool {
				r := other
				r.Owner = request(lockKey).Owner
				ctx, cancel := context.WithCancel(t.Context())
				w := acquire(ctx, b, r)
				testkit.Eventually(t, "it waits", func() bool { return s.ZCard(t.Context(), queueKey).Val() == 1 })
				cancel()
				<-w.done
				if err = w.err; !errors.Is(err, context.Canceled) {
					t.Errorf("a waiter: %v", err)
				}
				released := b.Release(t.Context(), r.Grant())
				if !errors.As(err, new(*driver.HeldError)) {
					return false // in doubt, and then Release may not tell a loss
				}
				if !errors.Is(released, driver.ErrLost) {
					t.Errorf("a waiter that leaves: %v", released)
				}
				return true
			})
			check("a waiter", err, "web-3/1432")
		}
		s.Set(t.Context(), lockKey, "of redislock or Spring", r.TTL)
		_, err := b.TryAcquire(t.Context(), request(lockKey))
		check("another kit's", err, "")
	})
}

// A user that may not run TYPE still sees foreign locks, and sees nothing at a key that
// does not exist.
func TestForeignLockWithoutType(t *testing.T) {
	t.Parallel()
	s := realServer(t)
	redistest.SetUser(t, s.Client, append(documentedRules(t), "+scan", "+zcount", "+zrangebyscore", "-type"))
	b := newBackend(t, s.real.Client(t, redistest.AsUser))
	s.HSet(t.Context(), "shop:hash", "a", "1")
	_, err := b.TryAcquire(t.Context(), request("shop:hash"))
	if !errors.Is(err, driver.ErrForeign) {
		t.Errorf("TryAcquire: %v", err)
	}
	if infos := mustInspect(t, b, "shop:hash"); len(infos) != 1 || infos[0].Foreign != "unknown" {
		t.Errorf("listed %+v", infos)
	}
	if infos := mustInspect(t, b, "shop:nothing"); len(infos) != 0 {
		t.Errorf("listed %+v", infos)
	}
}
