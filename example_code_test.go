package distlock_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// Each error has one code. The Error says when to try again.
func ExampleCodeOf() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	lease, err := locker.Acquire(context.Background(), "report", distlock.Opts{})
	if err != nil {
		panic(err)
	}
	err = locker.Do(context.Background(), "report", distlock.Opts{RetryCount: 1}, func(context.Context) error { return nil })
	switch code := distlock.CodeOf(err); code {
	case distlock.CodeOK:
		fmt.Println("done")
	case distlock.CodeNotAcquired, distlock.CodeQueueFull:
		refused := new(distlock.Error)
		errors.As(err, &refused)
		fmt.Println(code, "- try again in", refused.RetryAfter)
	default:
		fmt.Println(code, err)
	}
	fmt.Println(distlock.CodeOf(lease.Release(context.Background())))
	// Output:
	// not_acquired - try again in 500ms
	// ok
}
