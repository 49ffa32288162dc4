package sqllock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The connection breaks when a renewal was sent, and the renewal is repeated with success. The
// first copy arrives when the owner has released, and the key is kept for MinHold.
func TestLateRenewalLeavesMinHold(t *testing.T) {
	eachShared(t, func(t *testing.T, of *store) {
		for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
			others := of.sessions(t, false)
			b, n := of.over(t, patience)
			r := request("key", time.Minute)
			r.Mode = mode
			g := testkit.MustTry(t, b, r)
			renewed := func() error {
				if r := driver.RenewAll(t.Context(), b, []driver.Grant{g})[0]; r.Status != driver.Renewed {
					return fmt.Errorf("renewal: %v, %w", r.Status, r.Err)
				}
				return nil
			}
			n.HoldAt(func(p []byte) bool { return strings.Contains(string(p), r.Owner) })
			result := make(chan error, 1)
			go func() { result <- renewed() }()
			testkit.Eventually(t, "the renewal is held back", func() bool { return n.Held() == 1 })
			n.Break()
			if err := <-result; err != nil {
				t.Fatal(err)
			}
			g.TTL, g.Retain = time.Hour, true
			if err := renewed(); err != nil {
				t.Fatal(err)
			}
			if err := n.Deliver(); err != nil {
				t.Fatal(err)
			}
			n.Kill()
			testkit.Eventually(t, "the renewal has ended", func() bool { return of.sessions(t, false) == others })

			held := new(driver.HeldError)
			_, err := of.open(t).TryAcquire(t.Context(), request("key", time.Minute))
			if !errors.As(err, &held) || held.RetryAfter < time.Hour/2 {
				t.Errorf("%v: kept for %v, want an hour: %v", mode, held.RetryAfter, err)
			}
			testkit.MustRelease(t, b, g)
		}
	})
}
