package torture

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/sqltest"
)

// postgresStore is a PostgreSQL server. It writes a commit to its log before it replies,
// so a server that is killed does not lose any.
type postgresStore struct {
	server *sqltest.Server
	dsn    string
	admin  *sql.DB
	locked *sql.Tx // has locked the tables
}

func startPostgres(tb testing.TB, _ int) store {
	tb.Helper()
	s := &postgresStore{server: sqltest.Postgres.Start(tb)}
	s.dsn = s.server.DSN(s.server.NewDatabase(tb))
	var err error
	if s.admin, err = sql.Open("pgx", s.dsn); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.admin.Close() })
	if err := sqllock.CreateTable(tb.Context(), s.admin, sqllock.Postgres); err != nil {
		tb.Fatal(err)
	}
	return s
}

func (s *postgresStore) addrs() []string { return []string{s.dsn} }

func (s *postgresStore) stop(tb testing.TB, _ int) {
	tb.Helper()
	s.server.Stop(tb)
}

func (s *postgresStore) cont(tb testing.TB, _ int) {
	tb.Helper()
	s.server.Cont(tb)
}

func (s *postgresStore) kill(int) { s.server.Kill() }

func (s *postgresStore) restart(tb testing.TB, _ int) {
	tb.Helper()
	s.server.Restart(tb)
}

// others calls a function of PostgreSQL for each client that is not the administrator.
func (s *postgresStore) others(tb testing.TB, function string) {
	tb.Helper()
	insist(tb, func(ctx context.Context) error {
		_, err := s.admin.ExecContext(ctx, "SELECT "+function+"(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		return err
	})
}

// lock locks the tables until unlock is called.
func (s *postgresStore) lock(tb testing.TB) {
	tb.Helper()
	insist(tb, func(ctx context.Context) error {
		tx, err := s.admin.Begin()
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "LOCK TABLE distlock, distlock_member IN ACCESS EXCLUSIVE MODE"); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		s.locked = tx
		return nil
	})
}

func (s *postgresStore) unlock() { _ = s.locked.Rollback() }

// left returns the leases that have not ended, and the places of processes that were not
// killed. Leases that have ended stay until the next request for the key.
func (s *postgresStore) left(_ int, dead func(holder string) bool) (left []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rows, err := s.admin.QueryContext(ctx, `SELECT lock_key, owner, token, expires > extract(epoch FROM clock_timestamp()) * 1000000
FROM (SELECT lock_key, owner, token, expires FROM distlock WHERE owner <> ''
UNION ALL SELECT lock_key, owner, token, expires FROM distlock_member) AS every`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, owner string
		var token uint64
		var lasts bool
		if err := rows.Scan(&key, &owner, &token, &lasts); err != nil {
			return nil, err
		}
		if lasts || token == 0 && !dead(driver.HolderOf(owner)) {
			left = append(left, fmt.Sprintf("key %s has %s with token %d", key, owner, token))
		}
	}
	return left, rows.Err()
}
