package doctor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestPostgres(t *testing.T) {
	t.Parallel()
	s := sqltest.Postgres.Start(t, "-c", "fsync=on")

	empty := s.NewDatabase(t)
	wantFindings(t, examine(t, s.URL(empty), ""), "fault ping", "note replicas")
	if got := s.Exec(t, empty, "SELECT count(*) FROM pg_tables WHERE tablename LIKE 'distlock%'"); got != "0" {
		t.Errorf("the doctor has created %s tables", got)
	}

	db := s.NewDatabase(t)
	rawURL := opened(t, s.URL(db))
	r := examine(t, rawURL, "")
	wantFindings(t, r, "note replicas")
	wantSeen(t, r, "lock", "median")

	s.Exec(t, db, "CREATE ROLE shop LOGIN")
	s.Exec(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON distlock TO shop")
	s.Exec(t, db, "GRANT SELECT ON distlock_member TO shop")
	r = examine(t, strings.Replace(rawURL, "postgres@", "shop@", 1), "")
	wantFindings(t, r, "fault ping", "note replicas")
	wantSeen(t, r, "ping", "permission denied for table distlock_member")

	s.Exec(t, db, "ALTER DATABASE "+db+" SET synchronous_commit = off")
	s.Exec(t, db, "ALTER TABLE distlock_member SET UNLOGGED")
	standby := s.Replica(t)
	for start := time.Now(); s.Exec(t, db, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") != "1"; {
		if time.Since(start) > patience {
			t.Fatal("the standby does not connect")
		}
	}
	r = examine(t, rawURL, "")
	wantFindings(t, r, "fault unlogged-tables", "warning synchronous-commit", "warning replicas")

	r = examine(t, standby.URL(db), "")
	wantFindings(t, r, "fault role", "fault ping", "fault fsync", "fault unlogged-tables", "warning synchronous-commit")
	wantSeen(t, r, "role", "a standby")
}

func TestMariaDB(t *testing.T) {
	t.Parallel()
	s := sqltest.MariaDB.Start(t, "--innodb-flush-log-at-trx-commit=1")

	empty := s.NewDatabase(t)
	wantFindings(t, examine(t, s.URL(empty), ""), "fault ping", "note replicas")

	db := s.NewDatabase(t)
	rawURL := opened(t, s.URL(db))
	r := examine(t, rawURL, "")
	wantFindings(t, r, "note replicas")

	s.Exec(t, db, "CREATE USER shop")
	s.Exec(t, db, "GRANT SELECT, INSERT, UPDATE, DELETE ON distlock TO shop")
	s.Exec(t, db, "GRANT SELECT, INSERT, UPDATE ON distlock_member TO shop")
	s.Exec(t, db, "GRANT SELECT, INSERT ON distlock_guard TO shop")
	r = examine(t, strings.Replace(rawURL, "root@", "shop@", 1), "")
	wantFindings(t, r, "fault ping", "note replicas")
	wantSeen(t, r, "ping", "DELETE command denied")

	s.Exec(t, db, "SET GLOBAL sql_mode = 'EMPTY_STRING_IS_NULL'")
	r = examine(t, rawURL, "")
	wantFindings(t, r, "fault ping", "note replicas")
	wantSeen(t, r, "ping", "sql_mode has EMPTY_STRING_IS_NULL: remove it")
	s.Exec(t, db, "SET GLOBAL sql_mode = DEFAULT")

	s.Exec(t, db, "ALTER TABLE distlock_guard ENGINE=MyISAM")
	s.Exec(t, db, "SET GLOBAL innodb_flush_log_at_trx_commit = 0")
	s.Exec(t, db, "SET GLOBAL autocommit = OFF")
	s.Exec(t, db, "SET GLOBAL read_only = ON")
	r = examine(t, rawURL, "")
	wantFindings(t, r, "fault role", "fault ping", "fault table-engine", "warning flush-log-at-commit", "note replicas")
	wantSeen(t, r, "table-engine", "distlock_guard MyISAM")
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "locks.db")
	wantFindings(t, examine(t, "sqlite:"+file, ""), "fault file")
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the doctor has created the file: %v", err)
	}

	r := examine(t, opened(t, "sqlite:"+file), "")
	wantFindings(t, r)
	if strings.Contains(text(t, r), "tls") {
		t.Errorf("a file has no TLS:\n%s", text(t, r))
	}
}
