package redissonlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redissonlock"
)

// A lock that a thread of Java holds is refused, and what is held here is a lock for
// Java.
func Example() {
	srv, err := miniredis.Run()
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Close()
	rdb := redis.NewClient(&redis.Options{Addr: srv.Addr()}) // or NewFailoverClient, NewClusterClient
	defer rdb.Close()
	ctx := context.Background()

	locker := distlock.New(redissonlock.New(rdb, redissonlock.Config{}), distlock.Config{})
	defer locker.Close()

	// What redisson.getLock("stock:42").lock() writes.
	rdb.HSet(ctx, "stock:42", "6f1b2c3d-0000-4000-8000-000000000001:57", 1)
	rdb.PExpire(ctx, "stock:42", 30*time.Second)

	_, err = locker.TryAcquire(ctx, "stock:42", distlock.Opts{})
	held := new(distlock.HeldError)
	fmt.Println(errors.As(err, &held), held.Holder)

	rdb.Del(ctx, "stock:42") // unlock()
	err = locker.Do(ctx, "stock:42", distlock.Opts{}, func(ctx context.Context) error {
		fmt.Println("isLocked:", rdb.Exists(ctx, "stock:42").Val() == 1)
		return nil
	})
	fmt.Println(err)
	// Output:
	// true redisson-6f1b2c3d/thread-57
	// isLocked: true
	// <nil>
}
