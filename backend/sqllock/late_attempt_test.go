package sqllock_test

import (
	"strings"
	"testing"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// sessions returns the other sessions of the database, or only the ones that wait for a
// lock.
func (of *store) sessions(t *testing.T, waiting bool) []string {
	t.Helper()
	query := "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	only := " AND wait_event_type = 'Lock'"
	if of.dialect == sqllock.MySQL {
		query = "SELECT id FROM information_schema.processlist WHERE db = database() AND id <> connection_id()"
		only = " AND command <> 'Sleep' AND time_ms > 50"
	}
	if waiting {
		query += only
	}
	return strings.Fields(of.server.Exec(t, of.name, query))
}
