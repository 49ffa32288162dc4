package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
)

// openRedis starts a miniredis, and returns a client of it.
func openRedis() (*redis.Client, func()) {
	srv, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()})
	return rdb, func() { _ = rdb.Close(); srv.Close() }
}

// The usual way: a Locker over the application's own client.
func Example() {
	rdb, stop := openRedis() // in production: redis.NewClient, NewFailoverClient or NewClusterClient
	defer stop()

	locker := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
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
	rdb, stop := openRedis()
	defer stop()

	backend := redislock.New(rdb,
		redislock.Config{InboxPrefix: "shop:inbox:", ClaimWindow: time.Second, OpTimeout: 2 * time.Second},
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
	rdb, stop := openRedis()
	defer stop()
	ctx := context.Background()

	// The record of bsm/redislock, redsync or a Spring service.
	rdb.SetArgs(ctx, "orders:42", "their owner", redis.SetArgs{Mode: "NX", TTL: time.Minute})

	locker := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
	defer locker.Close()
	_, err := locker.TryAcquire(ctx, "orders:42", distlock.Opts{})
	fmt.Println(errors.Is(err, driver.ErrNotAcquired))
	// Output:
	// true
}

// In an outage go-redis writes each failed connection to stderr. The errors of the lock
// have the same causes.
func Example_logging() {
	logging.Disable() // of github.com/redis/go-redis/v9/logging
	defer logging.Enable()

	fmt.Println("quiet")
	// Output: quiet
}
