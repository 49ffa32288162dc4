package sqllock_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestDeadlock: another transaction has locked the row of one key and asks for that of
// another, which is the order opposite to that of a Backend that renews both. The database
// undoes what the Backend did.
//
// Row 32 (sqllock): the Backend repeats it, and its caller does not notice. Fails if a
// deadlock is not repeated.
func TestDeadlock(t *testing.T) {
	t.Parallel()
	const lockRow = "SELECT token FROM distlock WHERE lock_key = '"
	for name, d := range map[string]struct {
		database  database
		engine    *sqltest.Engine
		begin     string        // makes the transaction the one that is not undone
		waits     string        // how many statements wait for a row
		deadlocks func() string // changes with each deadlock
	}{
		"PostgreSQL": {
			postgres, sqltest.Postgres, "SET LOCAL deadlock_timeout = '10s'",
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
			func() string {
				return strconv.Itoa(strings.Count(sqltest.Postgres.Shared(t).Log(), "deadlock detected"))
			},
		},
		"MariaDB": {
			mariaDB, sqltest.MariaDB, "INSERT INTO ballast SELECT seq FROM seq_1_to_1000",
			"SELECT count(*) FROM information_schema.processlist WHERE db = database() AND id <> connection_id() AND command <> 'Sleep' AND time_ms > 50",
			func() string {
				return sqltest.MariaDB.Shared(t).Exec(t, "mysql", "SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := onServer(t, d.database, d.engine.Shared(t))
			b, db := of.open(t), of.pool(t)
			of.server.Exec(t, of.name, "CREATE TABLE ballast (n int)")
			grants := []driver.Grant{testkit.MustTry(t, b, request("a", time.Minute)), testkit.MustTry(t, b, request("b", time.Minute))}
			for try := range 10 {
				before := d.deadlocks()
				tx, err := db.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, sql := range []string{d.begin, lockRow + "b' FOR UPDATE"} {
					if _, err := tx.ExecContext(t.Context(), sql); err != nil {
						t.Fatalf("%s: %v", sql, err)
					}
				}
				done := make(chan []driver.RenewResult, 1)
				go func() { done <- driver.RenewAll(context.WithoutCancel(t.Context()), b, grants) }()
				testkit.Eventually(t, "the Backend waits for the row", func() bool {
					var n int
					if err := db.QueryRowContext(t.Context(), d.waits).Scan(&n); err != nil {
						t.Fatal(err)
					}
					return n == 1
				})
				_, undone := tx.ExecContext(t.Context(), lockRow+"a' FOR UPDATE")
				_ = tx.Rollback()
				for _, r := range <-done {
					if r.Status != driver.Renewed {
						t.Fatalf("Renew: %v, %v", r.Status, r.Err)
					}
				}
				switch {
				case undone == nil && d.deadlocks() != before:
					return
				case try == 9: // on a slow machine it can be the other transaction that is undone
					t.Fatalf("the Backend is never undone: %v", undone)
				}
			}
		})
	}
}
