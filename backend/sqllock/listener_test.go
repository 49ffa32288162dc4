package sqllock_test

import (
	"context"
	"errors"
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

// A release tells the waiter that is next, and no other. Without a waiter it tells
// nobody.
func TestReleaseNotifies(t *testing.T) {
	t.Parallel()
	of := postgres.newStore(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := pgx.Connect(ctx, of.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	if _, err := c.Exec(ctx, "LISTEN distlock"); err != nil {
		t.Fatal(err)
	}
	b := of.listening(t)
	testkit.MustRelease(t, b, testkit.MustTry(t, b, request("another", time.Minute)))
	for _, mode := range []driver.Mode{driver.Exclusive, driver.Shared} {
		g := testkit.MustTry(t, b, request("key", time.Minute))
		places := make([]driver.Request, 3)
		for i := range places {
			places[i] = request("key", time.Minute)
			places[i].Mode = mode
			if _, err := b.Enqueue(ctx, places[i]); !errors.Is(err, driver.ErrNotAcquired) {
				t.Fatalf("Enqueue: %v", err)
			}
		}
		testkit.MustRelease(t, b, g)
		want := places[:1]
		if mode == driver.Shared { // they can have the key together
			want = places
		}
		for i := range want {
			n, err := c.WaitForNotification(ctx)
			if err != nil || n.Payload != driver.Fingerprint(want[i].Owner) {
				t.Fatalf("message %d of a release with waiters that are %v: %+v, %v", i+1, mode, n, err)
			}
		}
		for i := len(places) - 1; i >= 0; i-- { // from the end: no other waiter's turn comes
			testkit.MustRelease(t, b, places[i].Grant())
		}
	}
}
