package redlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redlock"
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

// Three independent masters, of which one may fail.
func Example() {
	a, stopA := openRedis() // in production: redis.NewClient
	defer stopA()
	b, stopB := openRedis()
	defer stopB()
	c, stopC := openRedis()
	defer stopC()
	clients := []redis.UniversalClient{a, b, c}
	// There are no locks yet, so there is no need to wait for a longest lease.
	backend := redlock.New(clients, redlock.Config{TrustedStart: true, NodeTimeout: time.Second})
	locker := distlock.New(backend, distlock.Config{})
	defer locker.Close()

	err := locker.Do(context.Background(), "report", distlock.Opts{Prefix: "shop:"}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println(lease.Key(), lease.Check() == nil)
		return nil
	})
	fmt.Println("error:", err)
	// Output:
	// shop:report true
	// error: <nil>
}
