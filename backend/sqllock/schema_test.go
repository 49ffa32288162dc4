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
