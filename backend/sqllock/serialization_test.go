package sqllock_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestSerialization: all transactions of the database are serializable unless they
// say otherwise, so statements fail because of others that ran at the same time.
//
// Row 32 (sqllock): the Backend repeats them, and its caller does not notice. Fails if
// a serialization failure is not repeated.
func TestSerialization(t *testing.T) {
	t.Parallel()
	of := postgres.newStore(t).with("&default_transaction_isolation=serializable")
	const failure = "could not serialize access"
	before := strings.Count(of.server.Output(), failure)
	contend(t, of, func() bool { return strings.Count(of.server.Output(), failure) >= before+20 })
	begin := time.Now()
	contend(t, mariaDB.newStore(t).with("?tx_isolation=%27SERIALIZABLE%27"), func() bool { return time.Since(begin) > 300*time.Millisecond })
}

// contend lets many owners use one key in every way until enough returns true.
func contend(t *testing.T, of *store, enough func() bool) {
	t.Helper()
	b := of.open(t)
	var all sync.WaitGroup
	var stop atomic.Bool
	check := func(what string, err error) {
		if err != nil && !errors.Is(err, driver.ErrNotAcquired) {
			t.Errorf("%s: %v", what, err)
			stop.Store(true)
		}
	}
	for i := range 4 {
		all.Go(func() {
			for n := i; !stop.Load(); n++ {
				r := request("key", time.Minute)
				try := b.TryAcquire
				switch n % 4 {
				case 1:
					r.Mode = driver.Shared
				case 2:
					r.Permits = 2
				case 3:
					try = b.Enqueue
				}
				g, err := try(t.Context(), r)
				check("an attempt", err)
				if err != nil {
					if err := b.Release(t.Context(), r.Grant()); unknown(err) {
						check("the end of a place", err)
					}
					continue
				}
				if got := testkit.Renewed(t, b, g); got != nil {
					t.Errorf("Renew: %v", got)
				}
				check("Release", b.Release(t.Context(), g))
			}
		})
	}
	testkit.Eventually(t, "there are conflicts", func() bool { return stop.Load() || enough() })
	stop.Store(true)
	all.Wait()
}
