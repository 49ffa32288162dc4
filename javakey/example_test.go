package javakey_test

import (
	"context"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/javakey"
	"github.com/distlock-go/distlock/wiring"
)

// Example shows the keys of three Java libraries for the same method and parameters.
func Example() {
	for _, format := range []func(base string, params any) (key string, err error){javakey.Aspect, javakey.Lock4j} {
		pay := distlock.Opts{Value: "pay", ParamLock: true, KeyFormat: format}
		fmt.Println(wiring.Key(pay, []any{"u1", 7}))
	}
	job := distlock.Opts{Value: "pay", KeyFormat: javakey.ShedLock("prod")}
	fmt.Println(wiring.Key(job, nil)) // it has no parameters
	// Output:
	// pay-3676-7-locks <nil>
	// lock4j:pay#u1.7 <nil>
	// job-lock:prod:pay <nil>
}

// ExampleAspect takes the lock of a method in Java.
func ExampleAspect() {
	l := distlock.New(memlock.New(), distlock.Config{})
	defer l.Close()
	// @DistributedLock(prefix = "my-", value = "test", paramLock = true, keyTimeout =
	// 3000) void pay(String customer, int order)
	pay := wiring.Bind(l, distlock.Opts{
		Prefix: "my-", Value: "test", ParamLock: true, KeyTimeout: 3 * time.Second, KeyFormat: javakey.Aspect,
	})
	_ = pay.Do(context.Background(), []any{"u1", 7}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println(lease.Key())
		return nil
	})
	// Output: my-test-3676-7-locks
}
