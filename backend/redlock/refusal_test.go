package redlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// A majority of the nodes refuses: a caller is told that the store is the reason, with
// the words of the nodes, holders keep their locks, and nothing is left afterwards.
// Full nodes allow holders to renew and release.
//
// Row 17 (redlock): callers get ErrUnavailable with the nodes' words, and holders lose
// nothing. Fails if a node that refuses counts as a node that denies the lock.
func TestRefusals(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for _, refusal := range redistest.Refusals() {
		if refusal.Cluster {
			continue
		}
		t.Run(refusal.Error, func(t *testing.T) {
			t.Parallel()
			f := realFleet(t, 3)
			b := newBackend(t, f.clients(), redlock.Config{Tokens: true, NodeTimeout: 10 * time.Second})
			locker := testkit.NewLocker(t, b, distlock.Config{})
			opts := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond}
			f.warm(t, b)
			take := func(key string) *distlock.Lease {
				t.Helper()
				s := testkit.MustAcquire(t, locker, key, opts)
				testkit.Eventually(t, "all nodes have it", func() bool { return f.have(key, "") == 0 })
				return s
			}
			held, leaving := take(lockKey), take("leaving")
			has := func(err error, words string) bool {
				return err != nil && slices.ContainsFunc(strings.Split(words, "|"), func(w string) bool { return strings.Contains(err.Error(), w) })
			}
			check := func(what string, err error, words string, want, not error) {
				t.Helper()
				if !errors.Is(err, want) || errors.Is(err, not) || !has(err, words) {
					t.Errorf("%s: %v, want %v with %s, and not %v", what, err, want, words, not)
				}
			}
			words := refusal.Error
			if words == "NOAUTH" {
				// An unauthenticated client that sends that much is cut off, and may
				// not even get the reason.
				words += "|unauthenticated|EOF|reset by peer|broken pipe"
			}

			var ends []func()
			for _, s := range f.servers[:2] {
				ends = append(ends, refusal.Begin(t, s))
			}
			_, err := locker.TryAcquire(t.Context(), "free", opts)
			check("TryAcquire", err, words, distlock.ErrUnavailable, driver.ErrNotAcquired)
			for patience := time.Second; ; patience *= 2 { // a busy machine needs long for the first refusal
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				_, err = locker.Acquire(ctx, "free", opts)
				cancel()
				if has(err, words) || patience > 8*time.Second {
					break
				}
			}
			check("Acquire", err, words, distlock.ErrUnavailable, driver.ErrLost)
			check("Acquire", err, words, context.DeadlineExceeded, driver.ErrLost)

			if refusal.Error == "OOM" { // also if the nodes have forgotten their scripts
				for _, c := range f.admins {
					c.ScriptFlush(t.Context())
				}
			}
			refreshed, released := held.Refresh(t.Context()), leaving.Release(t.Context())
			if refusal.Error == "OOM" {
				if err := errors.Join(refreshed, released); err != nil {
					t.Errorf("on full nodes: %v", err)
				}
			} else {
				check("renewal", refreshed, words, distlock.ErrUnavailable, driver.ErrLost)
				check("release", released, words, distlock.ErrUnavailable, driver.ErrLost)
			}
			if err := held.Check(); err != nil {
				t.Errorf("who holds a lock meanwhile: %v", err)
			}

			for _, end := range ends {
				end()
			}
			for _, key := range []string{"leaving", "free"} {
				testkit.Eventually(t, "what could not be given back is", func() bool { return f.have(key, "") == 3 })
			}
			testkit.Eventually(t, "it is renewed", func() bool { return held.Refresh(t.Context()) == nil })
			if next := take("leaving"); next.Token() <= leaving.Token() {
				t.Errorf("token %d after %d", next.Token(), leaving.Token())
			} else if err := next.Release(t.Context()); err != nil {
				t.Errorf("release afterwards: %v", err)
			}
			if err := held.Release(t.Context()); err != nil {
				t.Errorf("release by the holder: %v", err)
			}
			f.settled(t, b)
		})
	}
}
