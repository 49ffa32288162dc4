package sqllock_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The sweep deletes the rows of keys that were unused for the retention, and no other.
// The tokens of a key rise over its deletion, and a lease from before is stale.
func TestSweep(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		db, b := of.pool(t), of.open(t, sqllock.Config{Retention: time.Hour})
		old := make(map[string]driver.Grant)
		for _, key := range []string{"unused", "held", "crashed", "waited-for", "deserted", "ahead"} {
			old[key] = testkit.MustTry(t, b, request(key, time.Minute))
		}
		for i := range 600 { // more than a page
			exec(t, db, "INSERT INTO distlock (lock_key, owner, prior_token, token, since, expires, busy) VALUES ('more"+strconv.Itoa(i)+"', '', 0, 1, 0, 0, 0)")
		}
		commit(t, guard(t, b, db, old["unused"])) // in MySQL it has a row in another table
		for _, key := range []string{"waited-for", "deserted"} {
			if _, err := b.Enqueue(t.Context(), request(key, time.Minute)); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Enqueue: %v", err)
			}
		}
		for _, key := range []string{"unused", "waited-for", "deserted", "ahead"} {
			testkit.MustRelease(t, b, old[key])
		}
		const long = "2 * 3600000000"
		exec(t, db, "UPDATE distlock SET prior_token = prior_token - "+long+", token = token - "+long+" WHERE lock_key <> '' AND owner = '' OR lock_key = 'crashed'")
		exec(t, db, "UPDATE distlock SET expires = expires - "+long+" WHERE lock_key <> ''")
		exec(t, db, "UPDATE distlock SET expires = expires + 2 * "+long+" WHERE lock_key = 'held'")
		exec(t, db, "UPDATE distlock_member SET expires = expires - "+long+" WHERE lock_key = 'deserted'")
		// The clock was set back: it has passed the end of the lease, and not the
		// token.
		exec(t, db, "UPDATE distlock SET token = token + 2 * "+long+" - 1000000 WHERE lock_key = 'ahead'")
		last := scan(t, db, "SELECT token FROM distlock WHERE lock_key = 'unused'")
		recent := testkit.MustTry(t, b, request("recent", time.Minute))
		testkit.MustRelease(t, b, recent)

		if err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for key, want := range map[string]string{"unused": "0", "more599": "0", "crashed": "0", "deserted": "0", "held": "1", "ahead": "1", "waited-for": "1", "recent": "1"} {
			if got := scan(t, db, "SELECT count(*) FROM distlock WHERE lock_key = '"+key+"'"); got != want {
				t.Errorf("%s rows of the key %s, want %s", got, key, want)
			}
		}
		if got := scan(t, db, "SELECT count(*) FROM distlock_member"); got != "1" {
			t.Errorf("%s places, want the one of the key that is waited for", got)
		}
		if of.dialect == sqllock.MySQL {
			if got := scan(t, db, "SELECT count(*) FROM distlock_guard"); got != "0" {
				t.Errorf("%s rows to guard with, want none", got)
			}
		}
		tx := begin(t, db, 0)
		if err := b.Guard(t.Context(), tx, granted{old["unused"]}); !errors.Is(err, sqllock.ErrStale) {
			t.Errorf("Guard with a lease from before: %v", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		next := testkit.MustTry(t, b, request("unused", time.Minute))
		if before, err := strconv.ParseUint(last, 10, 64); err != nil || next.Token <= before {
			t.Errorf("token %d after %s, which was deleted: %v", next.Token, last, err)
		}
		commit(t, guard(t, b, db, next))
		if err := b.Guard(t.Context(), begin(t, db, 0), granted{old["unused"]}); !errors.Is(err, sqllock.ErrStale) {
			t.Errorf("Guard with a lease from before, while another has the key: %v", err)
		}
	})
}
