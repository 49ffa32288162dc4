package sqllock_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/backend/sqllock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestCreateTogether has several processes that start together, and create what is
// missing.
func TestCreateTogether(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		for round := range 3 {
			table := fmt.Sprint("locks", round)
			var all sync.WaitGroup
			for range 5 {
				b, db := of.open(t, sqllock.Config{Table: table}), of.pool(t)
				all.Go(func() {
					err := b.Ping(t.Context())
					if errors.Is(err, sqllock.ErrNoTable) {
						if err = sqllock.CreateTable(t.Context(), db, of.dialect, table); err == nil {
							err = b.Ping(t.Context())
						}
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		}
	})
}

// TestDropped: somebody drops the table after the first use. Each operation says so, and what
// to do.
func TestDropped(t *testing.T) {
	each(t, func(t *testing.T, of *store) {
		const table = "dropped"
		b, db := of.open(t, sqllock.Config{Table: table}), of.pool(t)
		if err := sqllock.CreateTable(t.Context(), db, of.dialect, table); err != nil {
			t.Fatal(err)
		}
		g := testkit.MustTry(t, b, testkit.NewRequest("held"))
		if _, err := db.ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
			t.Fatal(err)
		}
		_, attempt := b.TryAcquire(t.Context(), testkit.NewRequest("another"))
		_, look := b.Inspect(t.Context(), "", 1)
		for _, err := range []error{attempt, look, testkit.Renewed(t, b, g), b.Release(t.Context(), g)} {
			if !errors.Is(err, sqllock.ErrNoTable) || !strings.Contains(err.Error(), "CreateTable") {
				t.Error(err)
			}
		}
	})
}
