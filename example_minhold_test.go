package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// A job that cron starts on every machine runs once, although it is quick and the
// clocks differ by some minutes.
func ExampleOpts_minHold() {
	store := memlock.New()
	ctx := context.Background()
	report := func(context.Context) error { fmt.Println("the report is written"); return nil }

	cron := func(machine string) {
		locker := distlock.New(store, distlock.Config{})
		defer locker.Close()

		err := locker.Do(ctx, "report", distlock.Opts{
			Prefix:     "cron:",
			Value:      "report",         // the name in metrics is cron:report
			RetryCount: 1,                // skip if another process has it
			MinHold:    10 * time.Minute, // longer than clocks differ, shorter than the period
		}, report)
		switch {
		case errors.Is(err, distlock.ErrUnavailable):
			fmt.Println(machine, "cannot tell:", err)
		case errors.Is(err, distlock.ErrNotAcquired):
			fmt.Println(machine, "skips")
		case err != nil:
			fmt.Println(machine, "failed:", err)
		}
	}
	for _, machine := range []string{"a", "b", "c"} { // one after the other, because their clocks differ
		cron(machine)
	}
	// Output:
	// the report is written
	// b skips
	// c skips
}

// If the resource checks the token, a lock without a token is refused.
func ExampleOpts_fencing() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	lease, err := locker.Acquire(ctx, "file", distlock.Opts{Fencing: true})
	if errors.Is(err, distlock.ErrNoFencing) {
		fmt.Println("take another backend")
		return
	}
	defer lease.Release(ctx)
	fmt.Println(lease.Token() > 0)
	// Output: true
}
