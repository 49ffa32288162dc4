package sqllock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// desert leaves a place in the queue whose waiter looks no more, as a process does that is
// killed.
func desert(t *testing.T, b driver.Queuer, key string) {
	t.Helper()
	r := request(key, time.Minute)
	r.Backoff = driver.NewBackoff(time.Millisecond, 2)
	if _, err := b.Acquire(t.Context(), r); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("Acquire: %v", err)
	}
}

// Three waiters have died, and the key has been free for 0.6 s. The next owner gets it, and
// when it gives the key back, another one gets it at once.
//
// Row 3 (sqllock): a free key is kept for waiters that have died for 0.6 s. Fails if their
// places count for longer, or again.
func TestDeadWaiters(t *testing.T) {
	each(t, func(t *testing.T, d database, dsn string) {
		db, b := d.pool(t, dsn), d.opened(t, dsn)
		g := testkit.MustTry(t, b, request("key", time.Minute))
		for range 3 {
			desert(t, b, "key")
		}
		testkit.MustRelease(t, b, g)
		for _, table := range []string{"distlock", "distlock_member"} {
			exec(t, db, "UPDATE "+table+" SET expires = expires - 600000 WHERE lock_key <> ''")
		}
		for range 2 {
			g, err := b.TryAcquire(t.Context(), request("key", time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			testkit.MustRelease(t, b, g)
		}
		if got := scan(t, db, "SELECT count(*) FROM distlock_member"); got != "3" {
			t.Errorf("%s places: one that is overtaken stays for a while", got)
		}
	})
}
