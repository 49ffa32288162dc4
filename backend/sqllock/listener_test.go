package sqllock_test

import (
	sqldriver "database/sql/driver"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/backend/sqllock/pglisten"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// listening returns a Backend with a Listener.
func (of *store) listening(tb testing.TB) *sqllock.Backend {
	tb.Helper()
	config, err := pgx.ParseConfig(of.dsn)
	if err != nil {
		tb.Fatal(err)
	}
	return of.open(tb, sqllock.Config{Listener: pglisten.New(config)})
}

// A release tells the waiter that is next, and no other. Without a waiter it tells nobody.
func TestReleaseNotifies(t *testing.T) {
	t.Parallel()
	of := database{driver: "double", dialect: sqllock.Postgres}.newStore(t)
	b := of.open(t, sqllock.Config{Listener: deaf{}})
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("another", time.Minute)))
	for mode, n := range map[driver.Mode]int{driver.Exclusive: 1, driver.Shared: 3} { // readers can have it together
		g := testkit.MustTry(t, b, request("key", time.Minute))
		var want []sqldriver.Value
		places := make([]driver.Request, 3)
		for i := range places {
			places[i] = request("key", time.Minute)
			places[i].Mode = mode
			if _, err := b.Enqueue(t.Context(), places[i]); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Enqueue: %v", err)
			}
			want = append(want, driver.Fingerprint(places[i].Owner))
		}
		testkit.MustRelease(t, b, g)
		if told := toldBy(of); !slices.Equal(told, want[:n]) {
			t.Errorf("a release with waiters that are %v tells %v, want %v", mode, told, want[:n])
		}
		for i := len(places) - 1; i >= 0; i-- { // from the end: no other waiter's turn comes
			testkit.MustRelease(t, b, places[i].Grant())
		}
		if told := toldBy(of); len(told) > 0 {
			t.Errorf("waiters that leave tell %v", told)
		}
	}
}
