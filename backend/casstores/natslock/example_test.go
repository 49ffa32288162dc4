package natslock_test

import (
	"context"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/casstores/natslock"
)

func Example() { //nolint:testableexamples // it needs a server
	nc, err := nats.Connect("nats://localhost:4222")
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	locker := distlock.New(natslock.New(nc, natslock.Config{Replicas: 3}), distlock.Config{})
	defer locker.Close()

	err = locker.Do(context.Background(), "order-42", distlock.Opts{}, func(context.Context) error {
		return nil // pay
	})
	if err != nil {
		log.Print(err)
	}
}
