package sqllock_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// takeAll takes all free connections of the pool.
func takeAll(tb testing.TB, db *sql.DB) (taken []*sql.Conn) {
	tb.Helper()
	for {
		ctx, cancel := context.WithTimeout(tb.Context(), 100*time.Millisecond)
		c, err := db.Conn(ctx)
		cancel()
		if err != nil {
			return taken
		}
		taken = append(taken, c)
	}
}

// A function under a lock holds all connections that the application may have, for
// several leases. The lock is renewed, and released, on the connection that is reserved.
func TestFunctionHoldsAllConnections(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db := d.pool(t, dsn)
		db.SetMaxOpenConns(2)
		l := distlock.New(d.on(t, db, sqllock.Config{OpTimeout: 2 * time.Second}), distlock.Config{})
		defer l.Close()
		const lease = 2 * time.Second
		var taken []*sql.Conn
		err := l.Do(t.Context(), "key", distlock.Opts{KeyTimeout: lease}, func(ctx context.Context) error {
			if taken = takeAll(t, db); len(taken) != 1 {
				t.Errorf("the application has %d connections of 2", len(taken))
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * lease / 2):
				return nil
			}
		})
		if err != nil {
			t.Errorf("Do: %v", err)
		}
		if stats := db.Stats(); stats.InUse != 2 {
			t.Errorf("%d connections are in use, want 2", stats.InUse)
		}
		if _, err := l.TryAcquire(t.Context(), "another", distlock.Opts{}); err == nil || !strings.Contains(err.Error(), "no connection of the pool is free") {
			t.Errorf("TryAcquire without a free connection: %v", err)
		}
		for _, c := range taken {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := l.Do(t.Context(), "key", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
			t.Errorf("Do when the connections are free again: %v", err)
		}
	})
}

// Every call works when each statement may go to another session, as behind a pooler in
// transaction mode: without prepared statements, and with a new connection each time.
func TestWithoutSessions(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"exec", "simple_protocol"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			dsn := postgres.newTables(t)
			db := postgres.pool(t, dsn+"&default_query_exec_mode="+mode)
			db.SetMaxIdleConns(0)
			everyCall(t, postgres.on(t, db), db)
		})
	}
}

// everyCall calls every method once or more.
func everyCall(t *testing.T, b *sqllock.Backend, db *sql.DB) {
	t.Helper()
	if err := b.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	g := testkit.MustTry(t, b, request("key", time.Minute))
	reader := request("shared", time.Minute)
	reader.Mode = driver.Shared
	permit := request("semaphore", time.Minute)
	permit.Permits = 2
	grants := []driver.Grant{g, testkit.MustTry(t, b, reader), testkit.MustTry(t, b, permit)}
	for i, r := range driver.RenewAll(t.Context(), b, grants) {
		if r.Status != driver.Renewed {
			t.Errorf("Renew of grant %d: %v, %v", i, r.Status, r.Err)
		}
	}
	for i := range grants {
		more, err := b.Extend(t.Context(), grants[i], 4)
		if err != nil || more.Token <= grants[i].LastToken {
			t.Errorf("Extend of grant %d: %+v, %v", i, more, err)
		}
	}
	commit(t, guard(t, b, db, g))
	next := testkit.StartWaiter(t, b, request("key", time.Minute))
	testkit.Eventually(t, "a place", func() bool {
		infos, err := b.Inspect(t.Context(), "", 10)
		return err == nil && len(infos) == 3 && infos[0].Waiting == 1
	})
	for _, g := range grants {
		testkit.MustRelease(t, b, g)
	}
	more := next.Served(t)
	if held, err := b.ForceRelease(t.Context(), "key"); err != nil || !held {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	if r := driver.RenewAll(t.Context(), b, []driver.Grant{more})[0]; r.Status != driver.Lost {
		t.Errorf("Renew after ForceRelease: %v, %v", r.Status, r.Err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Errorf("the sweep: %v", err)
	}
}
