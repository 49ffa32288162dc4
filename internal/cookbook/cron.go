package cookbook

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// Nightly writes the report once per night. Cron starts it on every machine.
func Nightly(ctx context.Context, locker *distlock.Locker, report func(ctx context.Context) error) error {
	err := locker.Do(ctx, "report", distlock.Opts{
		Prefix:     "cron:",
		Value:      "report",         // the name in metrics is cron:report
		RetryCount: 1,                // do not wait
		MinHold:    10 * time.Minute, // longer than the clocks differ, shorter than the period
	}, report)
	if !distlock.Ran(err) && distlock.CodeOf(err) == distlock.CodeNotAcquired {
		return nil // another machine writes the report, or has just written it
	}
	return err
}
