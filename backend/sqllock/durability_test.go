package sqllock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// The tables are dropped, and created anew, as after a restart of an empty server.
//
// Row 4 (sqllock): without the tables nothing is granted, and no lease is renewed. With
// new tables the holder learns of the loss at its next renewal, and the next token is
// higher. Fails if an error of the database counts as Lost, or if tokens start at 1.
func TestTablesGone(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		b, admin := of.open(t), of.pool(t)
		r := request("key", time.Minute)
		r.Tokens = 64
		g := testkit.MustTry(t, b, r)
		for _, table := range []string{"distlock", "distlock_member", "distlock_guard"} {
			exec(t, admin, "DROP TABLE IF EXISTS "+table) // the last one is of MySQL
		}
		tellsWhy(t, b, sqllock.ErrNoTable.Error(), "CreateTable")
		if err := sqllock.CreateTable(t.Context(), admin, of.dialect, ""); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, "the holder learns of the loss", func() bool {
			got := testkit.Renewed(t, b, g)
			if got == nil {
				t.Fatal("a lock that is gone is renewed")
			}
			return errors.Is(got, driver.ErrLost)
		})
		next := testkit.MustTry(t, b, request("key", time.Minute))
		if next.Token <= g.LastToken {
			t.Errorf("token %d after %d", next.Token, g.LastToken)
		}
		testkit.MustRelease(t, b, next)
	})
}

// The primary of PostgreSQL is lost, and a synchronous standby takes over.
//
// Row 5 (sqllock): with synchronous_standby_names all locks are kept, and a lock that
// the standby has not confirmed is not granted. Fails if an acquisition does not wait
// for its commit.
func TestSynchronousStandby(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	of, standby := replicated(t)
	of.server.Exec(t, of.name, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	of.server.Exec(t, of.name, "SELECT pg_reload_conf()")
	testkit.Eventually(t, "the standby is synchronous", func() bool {
		return of.server.Exec(t, of.name, "SELECT string_agg(sync_state, '') FROM pg_stat_replication") == "sync"
	})
	b := of.open(t)

	hasty := of.open(t, sqllock.Config{OpTimeout: time.Second})
	standby.Stop(t)
	if _, err := hasty.TryAcquire(t.Context(), request("unconfirmed", time.Minute)); !unknown(err) {
		t.Errorf("TryAcquire while the standby does not answer: %v", err)
	}
	standby.Cont(t)

	var kept []driver.Grant
	for i := range 10 {
		kept = append(kept, testkit.MustTry(t, b, request(fmt.Sprint("key", i), time.Minute)))
	}
	of.server.Kill()
	standby.Promote(t)
	testkit.Eventually(t, "all locks are renewed", func() bool {
		n := 0
		for _, got := range driver.RenewAll(t.Context(), b, kept) {
			if errors.Is(got, driver.ErrLost) {
				t.Fatal("a lock is lost")
			}
			if got == nil {
				n++
			}
		}
		return n == len(kept)
	})
	for _, g := range kept {
		testkit.MustRelease(t, b, g)
	}
}
