package test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// shortAtFirst makes the store grant every key for 300 ms at first, although the lease is
// longer.
func shortAtFirst(s *testkit.Store) {
	const atFirst = 300 * time.Millisecond
	var ttl time.Duration
	s.Before(func(_ context.Context, c *testkit.Call) error {
		if c.Op == testkit.Wait && c.Requests[0].Renews {
			ttl, c.Requests[0].TTL = c.Requests[0].TTL, atFirst
		}
		return nil
	})
	s.After(func(_ context.Context, c *testkit.Call) error {
		if c.Op == testkit.Wait && c.Requests[0].Renews {
			g := &c.Grants[0]
			g.Until, g.TTL = g.Sent.Add(atFirst), ttl
		}
		return nil
	})
}

// A lease that is short at first is renewed before its end, and Until does not wait for
// that. A lease that is not renewed is never short.
func TestLeaseThatIsShortAtFirst(t *testing.T) {
	for name, c := range map[string]struct {
		opts  distlock.Opts
		pause time.Duration
		until time.Duration // at least, after the pause
	}{
		"at once":     {distlock.Opts{KeyTimeout: time.Minute}, 0, 59 * time.Second},
		"later":       {distlock.Opts{KeyTimeout: time.Minute}, 10 * time.Second, 40 * time.Second},
		"not renewed": {distlock.Opts{KeyTimeout: time.Minute, NoWatchdog: true}, 10 * time.Second, 49 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := testkit.NewStore()
			shortAtFirst(store)
			l := testkit.NewLocker(t, store, distlock.Config{})
			s, err := l.Acquire(t.Context(), "k", c.opts)
			if err != nil {
				t.Fatal(name, err)
			}
			time.Sleep(c.pause)
			if left := time.Until(s.Until()); left < c.until {
				t.Errorf("%s: %v left, want at least %v", name, left, c.until)
			}
			if err := s.Release(t.Context()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
