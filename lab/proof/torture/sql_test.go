package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver mysql
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// sqlStore is a database server. It writes a commit to its log before it replies, so a
// server that is killed does not lose any.
type sqlStore struct {
	database *sqltest.Server
	dsn      string
	admin    *sql.DB
	locked   *sql.Tx // has locked the tables

	sessions  string // finds the sessions of the others
	terminate string // one of them; cancel ends only its statement
	cancel    string
	lockAll   string
}

func startPostgres(tb testing.TB, _ int) store {
	tb.Helper()
	return startSQL(tb, sqltest.Postgres, "pgx", sqllock.Postgres, &sqlStore{
		sessions:  "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
		terminate: "SELECT pg_terminate_backend(%d)", cancel: "SELECT pg_cancel_backend(%d)",
		lockAll: "LOCK TABLE distlock, distlock_member IN ACCESS EXCLUSIVE MODE",
	})
}

func startMariaDB(tb testing.TB, _ int) store {
	tb.Helper()
	return startSQL(tb, sqltest.MariaDB, "mysql", sqllock.MySQL, &sqlStore{
		sessions:  "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()",
		terminate: "KILL CONNECTION %d", cancel: "KILL QUERY %d",
		lockAll: "SELECT lock_key FROM distlock FOR UPDATE",
	})
}

func startSQL(tb testing.TB, e *sqltest.Engine, driverName string, d sqllock.Dialect, s *sqlStore) store {
	tb.Helper()
	s.database = e.Start(tb)
	s.dsn = s.database.DSN(s.database.NewDatabase(tb))
	var err error
	if s.admin, err = sql.Open(driverName, s.dsn); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.admin.Close() })
	if err := sqllock.CreateTable(tb.Context(), s.admin, d, sqllock.DefaultTable); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *sqlStore) addrs() []string { return []string{s.dsn} }

func (s *sqlStore) server(int) *child.Server { return &s.database.Server }

// others executes a statement for each session of a client that is not the administrator.
func (s *sqlStore) others(tb testing.TB, statement string) {
	tb.Helper()
	var sessions []int
	insist(tb, func(ctx context.Context) error {
		rows, err := s.admin.QueryContext(ctx, s.sessions)
		if err != nil {
			return err
		}
		defer rows.Close()
		for sessions = nil; rows.Next(); {
			var id int
			if err := rows.Scan(&id); err != nil {
				return err
			}
			sessions = append(sessions, id)
		}
		return rows.Err()
	})
	for _, id := range sessions {
		_, _ = s.admin.ExecContext(context.Background(), fmt.Sprintf(statement, id)) // it may have ended
	}
}

// lock locks the tables until unlock is called.
func (s *sqlStore) lock(tb testing.TB) {
	tb.Helper()
	insist(tb, func(ctx context.Context) error {
		tx, err := s.admin.Begin()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, s.lockAll); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		s.locked = tx
		return nil
	})
}

func (s *sqlStore) unlock() { _ = s.locked.Rollback() }

// left returns the leases that have not ended, and the places that count. Those that have
// ended stay until the next request for the key, or until the sweep.
func (s *sqlStore) left(int) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rows, err := s.admin.QueryContext(ctx, `SELECT lock_key, owner, token, expires FROM distlock WHERE owner <> ''
UNION ALL SELECT lock_key, owner, token, expires FROM distlock_member`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, owner string
		var token, expires int64
		if err := rows.Scan(&key, &owner, &token, &expires); err != nil {
			return nil, err
		}
		ends := time.UnixMicro(expires)
		if token == 0 {
			ends = ends.Add(5 * time.Second) // since the waiter has looked
		}
		if time.Now().Before(ends) { // server and test have one clock
			left = append(left, fmt.Sprintf("key %s has %s with token %d", key, owner, token))
		}
	}
	return left, rows.Err()
}
