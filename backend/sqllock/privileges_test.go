package sqllock_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// withLeastPrivileges returns the data source name of a user that has the privileges of
// docs/operations.md and no others.
func (d database) withLeastPrivileges(tb testing.TB, dsn string) string {
	tb.Helper()
	db := d.pool(tb, dsn)
	name, admin := "database()", "root@"
	tables := []string{"distlock", "distlock_member", "distlock_guard"}
	switch d.dialect {
	case sqllock.SQLite:
		return dsn // it has no users
	case sqllock.Postgres:
		name, admin, tables = "current_database()", "postgres@", tables[:2]
	}
	user := "user_" + scan(tb, db, "SELECT "+name)
	exec(tb, db, "CREATE USER "+user)
	for _, table := range tables {
		exec(tb, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+table+" TO "+user)
	}
	return strings.Replace(dsn, admin, user+"@", 1)
}
