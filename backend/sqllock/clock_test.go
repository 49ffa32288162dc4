package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestDatabaseClock: the clock of the database is set an hour back or ahead, while a
// key is free, held, or waited for.
//
// Row 11 (sqllock): tokens rise all the same. Set back, the clock ends no lease. Set
// ahead, it ends all: another owner can have the key before the holder is told, and
// only the token tells them apart. Fails if the token is the clock alone.
func TestDatabaseClock(t *testing.T) {
	eachOf(t, servers, func(t *testing.T, of *store) {
		of = of.onServer(t, of.engine.StartWithClock(t))
		s := of.server
		a, b := of.open(t), of.open(t)
		for _, r := range []driver.Request{request("exclusive", time.Minute), {Key: "shared", Mode: driver.Shared}, {Key: "permits", Permits: 1}} {
			var last uint64
			ask := func(b *sqllock.Backend) (driver.Grant, error) {
				own := request(r.Key, time.Minute)
				own.Mode, own.Permits, own.Tokens = r.Mode, r.Permits, 3
				g, err := b.TryAcquire(t.Context(), own)
				if err == nil && g.Token <= last {
					t.Errorf("%s: token %d after %d", r.Key, g.Token, last)
				}
				last = max(last, g.LastToken)
				return g, err
			}
			use := func(b *sqllock.Backend) driver.Grant {
				t.Helper()
				g, err := ask(b)
				if err != nil {
					t.Fatalf("%s is free: %v", r.Key, err)
				}
				return g
			}
			for _, d := range []time.Duration{0, time.Hour, 0, -time.Hour, -time.Hour - time.Millisecond, 0} {
				s.SetClock(t, d)
				testkit.MustRelease(t, a, use(a))
			}

			// Back while the key is held: the lease continues, for others too.
			s.SetClock(t, time.Hour)
			g := use(a)
			s.SetClock(t, 0)
			if r.Mode != driver.Shared {
				if _, err := ask(b); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("%s: another asks for a held key: %v", r.Key, err)
				}
			}
			if got := testkit.Renewed(t, a, g); got != nil {
				t.Errorf("%s: after the clock was set back: %v", r.Key, got)
			}
			testkit.MustRelease(t, a, g)

			// Ahead while the key is held: its lease is over. The holder of before is
			// told, and does not touch the key of the next.
			g = use(a)
			s.SetClock(t, time.Hour)
			next := use(b)
			if got := testkit.Renewed(t, a, g); !errors.Is(got, driver.ErrLost) {
				t.Errorf("%s: after the clock was set ahead: %v", r.Key, got)
			}
			if err := a.Release(t.Context(), g); !errors.Is(err, driver.ErrLost) && r.Mode != driver.Shared {
				t.Errorf("%s: release by the former holder: %v", r.Key, err)
			}
			testkit.MustRelease(t, b, next)
			s.SetClock(t, 0)
			testkit.MustRelease(t, a, use(a))
		}
	})
}
