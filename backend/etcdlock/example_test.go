package etcdlock_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
)

// Example demonstrates a function under a lock in etcd. It needs servers, so it is
// compiled and not run.
//
//nolint:testableexamples // see above
func Example() {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"etcd1:2379", "etcd2:2379", "etcd3:2379"}, Username: "shop", Password: "secret",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close() // the program ends
	backend, err := etcdlock.New(client, etcdlock.Config{Prefix: "shop/locks/", SessionTTL: 30 * time.Second})
	if err != nil {
		log.Print(err)
		return
	}
	locker := distlock.New(backend, distlock.Config{})
	defer locker.Close() // it has no error

	err = locker.Do(context.Background(), "order-42", distlock.Opts{}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("paying with token", lease.Token())
		return nil
	})
	if err != nil {
		log.Print(err)
	}
}
