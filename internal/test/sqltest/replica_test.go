package sqltest_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

// TestReplica checks that a standby has what was written before and after it started,
// and that it takes writes after its promotion.
func TestReplica(t *testing.T) {
	t.Parallel()
	primary := sqltest.Postgres.Start(t)
	database := primary.NewDatabase(t)
	primary.Exec(t, database, "CREATE TABLE a (b int); INSERT INTO a VALUES (42)")
	standby := primary.Replica(t)
	primary.Exec(t, database, "INSERT INTO a VALUES (43)")
	for start := time.Now(); standby.Exec(t, database, "SELECT count(*) FROM a") != "2"; {
		if time.Since(start) > time.Minute {
			t.Fatal("the standby does not follow")
		}
	}
	primary.Kill()
	standby.Promote(t)
	standby.Exec(t, database, "INSERT INTO a VALUES (44)")
}
