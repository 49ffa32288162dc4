package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestMaxLease: the longest lease ends before the session can end, in the worst case
// that its comment describes.
func TestMaxLease(t *testing.T) {
	t.Parallel()
	for _, tick := range []time.Duration{100 * time.Millisecond, 2 * time.Second} {
		for ticks := 3; ticks <= 20; ticks++ {
			timeout := time.Duration(ticks) * tick
			gone := timeout - timeout/3 - tick/2
			if l := zklock.MaxLease(timeout); l <= 0 || l > gone {
				t.Errorf("a lease of %v, and a session of %v that may end after %v", l, timeout, gone)
			}
		}
	}
}

// TestLeaseBound: no lease is longer than half of the timeout that the server agreed
// to.
func TestLeaseBound(t *testing.T) {
	t.Parallel()
	addr := []string{zktest.Shared(t).Addr()} // sessions of 400 ms to 600 s
	for _, c := range []struct{ session, ttl, want time.Duration }{
		{time.Hour, time.Hour, 5 * time.Minute},
		{time.Hour, time.Minute, time.Minute},
		{10 * time.Second, time.Minute, 5 * time.Second},
		{100 * time.Millisecond, time.Minute, 200 * time.Millisecond},
	} {
		b := newBackend(t, addr, zklock.Config{SessionTimeout: c.session})
		r := testkit.NewRequest("bound")
		r.TTL = c.ttl
		g := testkit.TryRepeatedly(t, b, r) // the shortest session may end in between
		if g.TTL != c.want {
			t.Errorf("a session of %v and a TTL of %v: a lease of %v, want %v", c.session, c.ttl, g.TTL, c.want)
		}
		_ = b.Release(context.Background(), g) // the shortest lease may have ended
	}
}
