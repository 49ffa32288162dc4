package sqllock_test

import (
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/sqltest"
)

// newPostgres returns the data source name of a new database with the tables.
func newPostgres(tb testing.TB) string {
	tb.Helper()
	s := sqltest.Postgres.Shared(tb)
	dsn := s.DSN(s.NewDatabase(tb))
	createTable(tb, "pgx", dsn, sqllock.Postgres)
	return dsn
}

// newMariaDB returns the data source name of a new database with the tables.
func newMariaDB(tb testing.TB) string {
	tb.Helper()
	s := sqltest.MariaDB.Shared(tb)
	dsn := s.DSN(s.NewDatabase(tb))
	createTable(tb, "mysql", dsn, sqllock.MySQL)
	return dsn
}

func TestConformancePostgres(t *testing.T) {
	t.Parallel()
	conform(t, "pgx", newPostgres(t), sqllock.Postgres)
}

func TestConformanceMariaDB(t *testing.T) {
	t.Parallel()
	conform(t, "mysql", newMariaDB(t), sqllock.MySQL)
}
