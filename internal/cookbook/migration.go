package cookbook

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
)

// Schema is the database. Apply runs one migration and, in the same transaction,
//
//	UPDATE schema_version SET version = $1 WHERE version = $1 - 1
//
// and rolls back if there is no such row.
type Schema interface {
	Version(ctx context.Context) (int, error)
	Apply(ctx context.Context, version int) error
}

// Migrate returns when the database has the wanted version. Every instance calls it
// when it starts.
func Migrate(ctx context.Context, locker *distlock.Locker, db Schema, want int) error {
	if version, err := db.Version(ctx); err != nil || version >= want {
		return err // most starts need no lock
	}
	opts := distlock.Opts{Prefix: "migrate:", Value: "shop", MaxWait: 10 * time.Minute}
	return locker.Do(ctx, "shop", opts, func(ctx context.Context) error {
		for {
			version, err := db.Version(ctx) // again: another instance may have migrated meanwhile
			if err != nil || version >= want {
				return err
			}
			if err := db.Apply(ctx, version+1); err != nil {
				return fmt.Errorf("migration %d: %w", version+1, err)
			}
		}
	})
}
