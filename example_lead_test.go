package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// A nightly job in three processes, here three Lockers over one store: one of them is
// the leader and does the work. When its process ends, another one takes over.
func ExampleLocker_Lead() {
	store := memlock.New()
	type run struct {
		process int
		term    uint64
	}
	runs := make(chan run)
	nightly := func(ctx context.Context, locker *distlock.Locker, process int) error {
		night := time.NewTicker(time.Millisecond) // a short night
		defer night.Stop()

		err := locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:", Value: "report"}, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			for {
				select {
				case <-night.C:
					runs <- run{process, lease.Token()} // the report
				case <-ctx.Done(): // the leadership is lost, or the process shuts down
					return ctx.Err()
				}
			}
		})
		return err
	}

	var stop [3]context.CancelFunc
	ended := make(chan error)
	for process := range stop {
		locker := distlock.New(store, distlock.Config{})
		var ctx context.Context
		ctx, stop[process] = context.WithCancel(context.Background())
		go func() {
			defer locker.Close()
			ended <- nightly(ctx, locker, process)
		}()
	}
	var last run
	for range stop {
		r := <-runs
		fmt.Println("another process:", r.process != last.process || last.term == 0, "a later term:", r.term > last.term)
		last = r
		stop[r.process]()
		for over := false; !over; {
			select {
			case <-runs: // it does the work
			case err := <-ended:
				over = errors.Is(err, context.Canceled)
			}
		}
	}
	// Output:
	// another process: true a later term: true
	// another process: true a later term: true
	// another process: true a later term: true
}
