package redlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
)

// The nodes forget their scripts repeatedly: callers do not notice, and nothing is done
// twice.
//
// Row 16 (redlock): locks are granted, renewed and released, and tokens rise. Fails if
// a script that a node has forgotten is not sent again.
func TestScriptFlush(t *testing.T) {
	t.Parallel()
	f := realFleet(t, 3)
	b := f.backend(t, redlock.WithTokens())
	f.warm(t, b)
	ctx, stop := context.WithCancel(t.Context())
	var flushers sync.WaitGroup
	var flushes atomic.Int64
	defer flushers.Wait()
	defer stop()
	for _, c := range f.admins {
		flushers.Go(func() {
			for ctx.Err() == nil {
				c.ScriptFlush(ctx)
				flushes.Add(1)
			}
		})
	}
	last := uint64(0)
	missed := func() (n int) {
		for _, s := range f.servers {
			n += s.ErrorStat(t, "NOSCRIPT")
		}
		return n
	}
	for i := 0; i < 100 || missed() < 20; i++ {
		g := acquire(t, b, request())
		if g.Token <= last {
			t.Fatalf("token %d after %d", g.Token, last)
		}
		last = g.LastToken
		if got := status(t, b, g); got != driver.Renewed {
			t.Fatalf("renewal: %v", got)
		}
		release(t, b, g)
		quiet(t, b)
	}
	t.Logf("%d flushes, %d scripts missed", flushes.Load(), missed())
	f.allFree(t)
}
