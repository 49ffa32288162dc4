package zklock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
)

// Example demonstrates a function under a lock in ZooKeeper. It needs servers, so it
// is compiled and not run.
//
//nolint:testableexamples // see above
func Example() {
	backend, err := zklock.New([]string{"zk1:2181", "zk2:2181", "zk3:2181"},
		zklock.Config{SessionTimeout: 30 * time.Second, User: "shop", Password: "secret"})
	if err != nil {
		log.Fatal(err)
	}
	locker := distlock.New(backend, distlock.Config{})
	defer locker.Close()

	err = locker.Do(context.Background(), "order-42", distlock.Opts{Prefix: "shop:"}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("paying with token", lease.Token())
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}
