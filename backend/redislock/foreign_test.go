package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mini "github.com/alicebob/miniredis/v2/server"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// A waiter whose context ends while it asks what is at the key knows that from the
// attempt before.
func TestVirtualContextEndsDuringALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := redistest.Virtual(t)
		b := newBackend(t, redistest.VirtualClient(t, m))
		m.HSet(lockKey, "redisson", "1")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		looks := 0
		m.Server().SetPreHook(func(_ *mini.Peer, cmd string, _ ...string) bool {
			if cmd == "TYPE" {
				if looks++; looks == 2 {
					cancel()
				}
			}
			return false
		})
		r := request(lockKey)
		r.Backoff = driver.NewBackoff(5*time.Millisecond, 0)
		_, err := b.Acquire(ctx, r)
		matches(t, "Acquire", err, driver.ErrForeign, driver.ErrNotAcquired, context.Canceled)
	})
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
				if !errors.As(err, &held) || held.Holder != c.holder || held.RetryAfter <= 0 || held.RetryAfter > time.Hour {
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
