package sqltest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	sqltest.StopShared()
	os.Exit(code)
}

// TestRestart checks that a killed and a stopped server come back with their data.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]*sqltest.Engine{"PostgreSQL": sqltest.Postgres, "MariaDB": sqltest.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engine.Start(t)
			database := s.NewDatabase(t)
			s.Exec(t, database, "CREATE TABLE a (b int); INSERT INTO a VALUES (42)")
			s.Shutdown(t)
			s.Restart(t)
			if got := s.Exec(t, database, "SELECT b FROM a"); got != "42" {
				t.Errorf("after a restart: %q", got)
			}
			s.Exec(t, database, "INSERT INTO a VALUES (43)")
			s.Stop(t)
			s.Kill()
			s.Restart(t)
			if got := s.Exec(t, database, "SELECT b FROM a"); got != "42\n43" {
				t.Errorf("after a crash: %q", got)
			}
		})
	}
}

// TestNewDatabase checks that tests share a server and not a database.
func TestNewDatabase(t *testing.T) {
	t.Parallel()
	for _, engine := range []*sqltest.Engine{sqltest.Postgres, sqltest.MariaDB} {
		s := engine.Shared(t)
		a, b := engine.NewDatabase(t), engine.NewDatabase(t)
		if a == b || !strings.Contains(a, s.Addr()+"/") || !strings.Contains(b, s.Addr()+"/") {
			t.Errorf("%s, %s", a, b)
		}
	}
}
