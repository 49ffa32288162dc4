package sqllock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestConnectionsKilled: an administrator ends all connections, again and again,
// while one process holds a lock and others take another in turn.
//
// Row 31 (sqllock): no lock is lost, no two holders meet, and waiters get their turn.
// Fails if a connection that has ended counts as Lost, or if an acquisition without an
// answer is not repeated with the same owner.
func TestConnectionsKilled(t *testing.T) {
	eachOwn(t, func(t *testing.T, of *store) {
		lease := testkit.MustAcquire(t, of.locker(t), "held", distlock.Opts{KeyTimeout: time.Minute})
		kill := map[sqllock.Dialect]string{sqllock.Postgres: "SELECT pg_terminate_backend(%s)", sqllock.MySQL: "KILL %s"}[of.dialect]
		db, killed := of.pool(t), 0
		for range 3 {
			new(testkit.Crowd).Disturb(t, func() testkit.Queue { return of.open(t) }, func() {
				for _, id := range of.sessions(t, false) {
					if _, err := db.ExecContext(t.Context(), fmt.Sprintf(kill, id)); err == nil { // it may have ended by itself
						killed++
					}
				}
			})
		}
		if killed < 10 {
			t.Errorf("%d connections were killed", killed)
		}
		if err := lease.Check(); err != nil {
			t.Errorf("the lock that was held all the time: %v", err)
		}
		testkit.Eventually(t, "it is renewed", func() bool { return lease.Refresh(t.Context()) == nil })
		if err := lease.Release(t.Context()); err != nil {
			t.Errorf("its release: %v", err)
		}
	})
}
