package distlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// An operator lists the holders, and takes a key away from a holder that is stuck.
func ExampleLocker_Inspect() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()
	stuck, err := locker.Acquire(ctx, "report", distlock.Opts{Prefix: "leader:"})
	if err != nil {
		log.Fatal(err)
	}

	locks, err := locker.Inspect(ctx, "leader:", 100)
	for _, lock := range locks {
		fmt.Println(lock.Key, lock.Held, lock.Waiting)
	}
	if err != nil {
		log.Fatal(err)
	}
	held, err := locker.ForceRelease(ctx, "leader:report")

	fmt.Println(held, err, stuck.Release(ctx) != nil)
	// Output:
	// leader:report 1 0
	// true <nil> true
}
