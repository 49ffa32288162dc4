package cookbook

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// Export runs at most 4 exports at once in all processes together.
func Export(ctx context.Context, locker *distlock.Locker, export func(ctx context.Context) error) error {
	return locker.Do(ctx, "export", distlock.Opts{
		Prefix:  "shop:",
		Value:   "export", // the name in metrics is shop:export
		Permits: 4,
		MaxWait: time.Minute,
		MaxHold: 10 * time.Minute, // an export that hangs gives its permit to another process
	}, export)
}

// CallBank begins at most 4 calls in any second: a permit is kept for a second even if
// the call is quicker.
func CallBank(ctx context.Context, locker *distlock.Locker, call func(ctx context.Context) error) error {
	return locker.Do(ctx, "bank", distlock.Opts{
		Prefix:  "shop:",
		Value:   "bank",
		Permits: 4,
		MinHold: time.Second,
		MaxWait: 10 * time.Second,
	}, call)
}
