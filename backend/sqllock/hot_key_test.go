package sqllock_test

import (
	"database/sql"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

var pages = regexp.MustCompile(`Buffers: shared hit=(\d+)`)

// A snapshot is open elsewhere, and PostgreSQL keeps all versions of a key that is
// locked often. The newest one is found without reading the others, also when the table
// was analyzed, and one row of it is in many pages.
func TestHotKeyUnderSnapshot(t *testing.T) {
	t.Parallel()
	of := postgres.newStore(t)
	db, b := of.pool(t), of.open(t)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("key", time.Minute)))
	tx := begin(t, db, sql.LevelRepeatableRead)
	scan(t, tx, "SELECT count(*) FROM distlock")
	exec(t, db, `DO $$ BEGIN
		FOR i IN 1..6000 LOOP UPDATE distlock SET since = i WHERE lock_key = 'key'; COMMIT; END LOOP;
	END $$`)
	if n := scan(t, db, "SELECT pg_relation_size('distlock') / 8192 > 40"); n != "true" {
		t.Fatal("the table has no old versions")
	}
	for _, step := range []string{"SELECT 1", "ANALYZE distlock"} {
		exec(t, db, step)
		plans, err := b.Plans(t.Context(), db, "key")
		if err != nil {
			t.Fatal(err)
		}
		for name, plan := range plans {
			m := pages.FindStringSubmatch(plan)
			if m == nil {
				t.Fatalf("%s: %s", name, plan)
			}
			if n, err := strconv.Atoi(m[1]); err != nil || n > 25 {
				t.Errorf("%s after %s reads %s pages: %s", name, step, m[1], plan)
			}
		}
	}
	commit(t, tx)
}
