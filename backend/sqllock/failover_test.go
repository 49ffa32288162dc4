package sqllock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// replicated returns a store on a server of PostgreSQL with a standby. Clients connect
// to the server that takes writes.
func replicated(t *testing.T) (of *store, standby *sqltest.Server) {
	t.Helper()
	of = postgres.onServer(t, sqltest.Postgres.Start(t))
	standby = of.server.Replica(t)
	of.dsn = fmt.Sprintf("postgres://postgres@%s,%s/%s?sslmode=disable&target_session_attrs=read-write",
		of.server.Addr(), standby.Addr(), of.name)
	return of, standby
}

// TestFailover: the primary of PostgreSQL is lost, and a standby takes over that was
// behind: it has some locks, and not the last ones. An asynchronous
// standby loses what synchronous_standby_names would have kept.
//
// Row 5 (sqllock): locks that the standby has are kept; the others are lost, and a
// renewal says so. Until then another owner can have the key, with a larger token.
// Fails if the token is a counter alone.
func TestFailover(t *testing.T) {
	t.Parallel()
	of, standby := replicated(t)
	b := of.open(t)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("rested", time.Minute)))
	kept := testkit.MustTry(t, b, request("kept", time.Minute)) // it is durable, and with it the release
	written := of.server.Exec(t, of.name, "SELECT pg_current_wal_lsn()")
	testkit.Eventually(t, "the standby has it", func() bool {
		return standby.Exec(t, of.name, "SELECT pg_last_wal_replay_lsn() >= '"+written+"'") == "t"
	})

	// The standby hears nothing more.
	standby.Exec(t, of.name, "ALTER SYSTEM SET primary_conninfo = ''")
	standby.Exec(t, of.name, "SELECT pg_reload_conf()")
	testkit.Eventually(t, "the standby is cut off", func() bool {
		return of.server.Exec(t, of.name, "SELECT count(*) FROM pg_stat_replication") == "0"
	})
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("rested", time.Minute))) // its token is lost
	var lost []driver.Grant
	for i := range 3 {
		lost = append(lost, testkit.MustTry(t, b, request(fmt.Sprintf("lost%d", i), time.Minute)))
	}
	r := request("rested", time.Minute)
	r.Tokens = 64
	last := testkit.MustTry(t, b, r)

	of.server.Kill()
	standby.Promote(t)
	testkit.Eventually(t, "the lock that was kept is renewed", func() bool {
		got := testkit.Renewed(t, b, kept)
		if errors.Is(got, driver.ErrLost) {
			t.Fatal("it is lost")
		}
		return got == nil
	})
	next := testkit.MustTry(t, b, request("rested", time.Minute))
	if next.Token <= last.LastToken {
		t.Errorf("token %d after %d", next.Token, last.LastToken)
	}
	stolen := testkit.MustTry(t, b, request(lost[0].Key, time.Minute)) // its holder was not told yet
	if stolen.Token <= lost[0].LastToken {
		t.Errorf("token %d after %d", stolen.Token, lost[0].LastToken)
	}
	for i, got := range driver.RenewAll(t.Context(), b, lost) {
		if !errors.Is(got, driver.ErrLost) {
			t.Errorf("renewal of a lock that was lost: %v", got)
		}
		if err := b.Release(t.Context(), lost[i]); !errors.Is(err, driver.ErrLost) {
			t.Errorf("release of a lock that was lost: %v", err)
		}
	}
	for _, g := range []driver.Grant{stolen, next, kept} {
		if got := testkit.Renewed(t, b, g); got != nil {
			t.Errorf("renewal of %s: %v", g.Key, got)
		}
		testkit.MustRelease(t, b, g)
	}
}
