package sqllock_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/distlock-go/distlock/backend/sqllock"
)

// TestCreateTogether has several processes that start together, and create what is
// missing.
func TestCreateTogether(t *testing.T) {
	t.Parallel()
	for _, d := range []database{postgres, mariaDB, sqlite} {
		t.Run(d.dialect.String(), func(t *testing.T) {
			t.Parallel()
			dsn := d.newDSN(t)
			for round := range 3 {
				table := sqllock.Config{Table: fmt.Sprint("locks", round)}
				var all sync.WaitGroup
				for range 5 {
					b, db := d.open(t, dsn, table), d.pool(t, dsn)
					all.Go(func() {
						err := b.Ping(t.Context())
						if errors.Is(err, sqllock.ErrNoTable) {
							if err = sqllock.CreateTable(t.Context(), db, d.dialect, table.Table); err == nil {
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
}
