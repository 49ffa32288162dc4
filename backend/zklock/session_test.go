package zklock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestLeaseBound: no lease is longer than half of the timeout that the server agreed
// to.
func TestLeaseBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ session, ttl, want time.Duration }{
		{time.Hour, time.Hour, 5 * time.Minute},
		{time.Hour, time.Minute, time.Minute},
		{10 * time.Second, time.Minute, 5 * time.Second},
		{100 * time.Millisecond, time.Minute, 200 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newVirtual(t, new(fakeServer), zklock.Config{SessionTimeout: c.session})
			r := testkit.NewRequest("bound")
			r.TTL = c.ttl
			g := testkit.MustTry(t, b, r)
			if g.TTL != c.want {
				t.Errorf("a session of %v and a TTL of %v: a lease of %v, want %v", c.session, c.ttl, g.TTL, c.want)
			}
			testkit.MustRelease(t, b, g)
		})
	}
}
