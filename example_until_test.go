package distlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// transfer is a transaction of a database that is rolled back if ctx ends before it
// is committed, as with the ctx of sql.DB.BeginTx.
func transfer(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	fmt.Println("rolled back if not committed in time:", ok, time.Until(deadline) > 20*time.Second)
	return ctx.Err()
}

// A transaction must end within the lease as it is when the transaction begins: at a
// later commit another holder may have the lock. Work that takes longer than the lease
// is done before, while the watchdog renews the lease.
func ExampleLease_Until() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	o := distlock.Opts{Prefix: "bank:", KeyTimeout: 30 * time.Second}
	err := locker.Do(context.Background(), "account:7", o, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		if time.Until(lease.Until()) < 10*time.Second { // not enough for the transaction
			if err := lease.Refresh(ctx); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithDeadline(ctx, lease.Until())
		defer cancel()
		return transfer(ctx)
	})
	fmt.Println(err)
	// Output:
	// rolled back if not committed in time: true true
	// <nil>
}
