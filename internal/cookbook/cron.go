package cookbook

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// Periods is a row of the database: the last period that is done. Done runs
//
//	UPDATE reports SET last = $1 WHERE last < $1
//
// and fails if there is no such row.
type Periods interface {
	Last(ctx context.Context) (time.Time, error)
	Done(ctx context.Context, period time.Time) error
}

// CatchUp writes the report of the last period, if nobody has. Cron starts it each minute on
// every machine.
func CatchUp(ctx context.Context, locker *distlock.Locker, row Periods, report func(ctx context.Context, day time.Time) error) error {
	day := time.Now().Truncate(24 * time.Hour)
	opts := distlock.Opts{Prefix: "cron:", Value: "report", RetryCount: 1}
	err := locker.Do(ctx, "report", opts, func(ctx context.Context) error {
		last, err := row.Last(ctx)
		if err != nil || !last.Before(day) {
			return err // it is done
		}
		if err := report(ctx, day); err != nil {
			return err
		}
		return row.Done(ctx, day)
	})
	if !distlock.Ran(err) && distlock.CodeOf(err) == distlock.CodeNotAcquired {
		return nil // another machine writes it
	}
	return err
}
