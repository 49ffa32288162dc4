package redlock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/redlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// All nodes restart empty. The holder learns of it at its next renewal, for a longest
// lease no caller gets the lock, and then one gets it with a higher token.
//
// Row 4 (redlock): the holder learns of it at its next renewal, the lock is not granted
// for a longest lease, the next token is higher. Fails if tokens start at 1 without the
// counter, if an empty node is trusted at once, or if a renewal creates a lock that is
// gone.
func TestRestartedEmpty(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	f := realFleet(t, 3)
	const lease = 4 * time.Second
	b := f.backend(t, redlock.WithTokens(), redlock.WithMaxLease(lease))
	g := f.everywhere(t, b, shorter(request(), lease))
	restarted := time.Now()
	f.restart(upTo(3)...)
	got := driver.Unknown
	testkit.Eventually(t, "a renewal is answered", func() bool {
		got = status(t, b, g)
		return got != driver.Unknown
	})
	if got != driver.Lost {
		t.Errorf("renewal: %v", got)
	}
	releaseLost(t, b, g)

	var next driver.Grant
	testkit.Eventually(t, "it is granted again", func() bool {
		var err error
		next, err = b.TryAcquire(t.Context(), shorter(request(), lease))
		return err == nil
	})
	if d := time.Since(restarted); d < lease {
		t.Errorf("it is granted %v after the restart, and the old lease of %v is not over", d, lease)
	}
	if next.Token <= g.LastToken {
		t.Errorf("token %d after %d", next.Token, g.LastToken)
	}
	_ = b.Release(t.Context(), next) // its lease is short
}
