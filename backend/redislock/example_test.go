package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redislock/embedded"
	"github.com/distlock-go/distlock/driver"
)

// The usual way: a Locker over the application's own client.
func Example() {
	srv := embedded.Start() // in production: redis.NewClient, NewFailoverClient or NewClusterClient
	defer srv.Close()
	rdb := srv.Client()

	locker := distlock.New(redislock.New(rdb), distlock.Config{})
	defer locker.Close()

	ctx := context.Background()
	err := locker.Do(ctx, "orders:42", distlock.Opts{Prefix: "shop:"}, func(ctx context.Context) error {
		fmt.Println("held:", rdb.Exists(ctx, "shop:orders:42").Val() == 1)
		return nil
	})
	fmt.Println("error:", err)
	fmt.Println("held:", rdb.Exists(ctx, "shop:orders:42").Val() == 1)
	// Output:
	// held: true
	// error: <nil>
	// held: false
}

// Options are arguments of New.
func ExampleNew() {
	srv := embedded.Start()
	defer srv.Close()

	backend := redislock.New(srv.Client(),
		redislock.WithInboxPrefix("shop:inbox:"),
		redislock.WithClaimWindow(time.Second),
		redislock.WithOpTimeout(2*time.Second),
	)
	locker := distlock.New(backend, distlock.Config{})
	defer locker.Close()

	lease, err := locker.TryAcquire(context.Background(), "report", distlock.Opts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lease.Key(), lease.Check() == nil)
	fmt.Println(lease.Release(context.Background()))
	// Output:
	// report true
	// <nil>
}

// Locks of other libraries are respected, because they write the same record.
func Example_interoperation() {
	srv := embedded.Start()
	defer srv.Close()
	rdb := srv.Client()
	ctx := context.Background()

	// The record of bsm/redislock, redsync or a Spring service.
	rdb.SetArgs(ctx, "orders:42", "their owner", redis.SetArgs{Mode: "NX", TTL: time.Minute})

	locker := distlock.New(redislock.New(rdb), distlock.Config{})
	defer locker.Close()
	_, err := locker.TryAcquire(ctx, "orders:42", distlock.Opts{})
	fmt.Println(errors.Is(err, driver.ErrNotAcquired))
	// Output:
	// true
}
