package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// Example demonstrates a function under a lock in one process.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	err := locker.Do(context.Background(), "order-42", distlock.Opts{Prefix: "shop:"}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("paying under", lease.Key())
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// paying under shop:order-42
	// error: <nil>
}

// ExampleBackend_Drop demonstrates how a test makes a function lose its lock.
func ExampleBackend_Drop() {
	store := memlock.New()
	locker := distlock.New(store, distlock.Config{})
	defer locker.Close()

	o := distlock.Opts{KeyTimeout: 50 * time.Millisecond} // renewed every 16 ms or so
	err := locker.Do(context.Background(), "order-42", o, func(ctx context.Context) error {
		store.Drop("order-42")
		<-ctx.Done() // instead of the work
		return context.Cause(ctx)
	})
	fmt.Println("lost:", errors.Is(err, driver.ErrLost))
	// Output:
	// lost: true
}
