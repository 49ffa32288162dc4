package sqllock_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/sqllock"
)

// takeAll takes all free connections of the pool.
func takeAll(tb testing.TB, db *sql.DB) (taken []*sql.Conn) {
	tb.Helper()
	for {
		ctx, cancel := context.WithTimeout(tb.Context(), 100*time.Millisecond)
		c, err := db.Conn(ctx)
		cancel()
		if err != nil {
			return taken
		}
		taken = append(taken, c)
	}
}

// A function under a lock holds all connections that the application may have, for
// several leases. The lock is renewed, and released, on the connection that is
// reserved.
func TestFunctionHoldsAllConnections(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		db := of.pool(t)
		db.SetMaxOpenConns(2)
		l := distlock.New(of.on(t, db, sqllock.Config{OpTimeout: 2 * time.Second}), distlock.Config{})
		defer l.Close()
		const lease = 2 * time.Second
		var taken []*sql.Conn
		err := l.Do(t.Context(), "key", distlock.Opts{KeyTimeout: lease}, func(ctx context.Context) error {
			if taken = takeAll(t, db); len(taken) != 1 {
				t.Errorf("the application has %d connections of 2", len(taken))
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(5 * lease / 2):
				return nil
			}
		})
		if err != nil {
			t.Errorf("Do: %v", err)
		}
		if stats := db.Stats(); stats.InUse != 2 {
			t.Errorf("%d connections are in use, want 2", stats.InUse)
		}
		if _, err := l.TryAcquire(t.Context(), "another", distlock.Opts{}); err == nil || !strings.Contains(err.Error(), "no connection of the pool is free") {
			t.Errorf("TryAcquire without a free connection: %v", err)
		}
		for _, c := range taken {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := l.Do(t.Context(), "key", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
			t.Errorf("Do when the connections are free again: %v", err)
		}
	})
}
