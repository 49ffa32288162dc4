package sqllock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// killConnections ends all connections to the database, as an administrator does, and
// returns how many there were.
func (of *store) killConnections(t *testing.T) (n int) {
	t.Helper()
	kill := map[sqllock.Dialect]string{sqllock.Postgres: "SELECT pg_terminate_backend(%s)", sqllock.MySQL: "KILL %s"}[of.dialect]
	db := of.pool(t)
	for _, id := range of.sessions(t, false) {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(kill, id)); err == nil { // it may have ended by itself
			n++
		}
	}
	return n
}

// TestConnectionsKilled: an administrator ends all connections, again and again,
// while one process holds a lock and others take another in turn.
//
// Row 31 (sqllock): no lock is lost, no two holders meet, and waiters get their turn.
// Fails if a connection that has ended counts as Lost, or if an acquisition without an
// answer is not repeated with the same owner.
func TestConnectionsKilled(t *testing.T) {
	eachOwn(t, func(t *testing.T, of *store) {
		opts := distlock.Opts{KeyTimeout: time.Minute, RetryInterval: 20 * time.Millisecond}
		lease := testkit.MustAcquire(t, of.locker(t), "held", opts)
		var r testkit.Register
		var all sync.WaitGroup
		stop := make(chan struct{})
		for range 4 {
			l := of.locker(t)
			all.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					err := l.Do(context.WithoutCancel(t.Context()), "turns", opts, func(ctx context.Context) error {
						s, _ := distlock.FromContext(ctx)
						r.Enter(t, s.Key(), s.Token())
						defer r.Leave(s.Key(), s.Token())
						return ctx.Err()
					})
					if err != nil && unknown(err) {
						continue // the release had no answer, and is repeated
					}
					if err != nil {
						t.Errorf("Do: %v", err)
					}
				}
			})
		}
		killed := 0
		for round := range 10 {
			before := r.Uses()
			testkit.Eventually(t, fmt.Sprintf("locks pass on in round %d", round), func() bool { return r.Uses() >= before+4 })
			killed += of.killConnections(t)
		}
		close(stop)
		all.Wait()
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
