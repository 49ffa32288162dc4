// Command example_service is a flash sale: the stock of an item is limited, and many
// buyers order at the same time, over HTTP and gRPC. An order reads the stock, thinks,
// and writes the rest back, so without a lock the shop sells more than it has. The
// routes below /unlocked show that; all others take one lock for each item.
//
//	go run ./example_service -http 127.0.0.1:8080 -grpc 127.0.0.1:9090 -backend embedded
//
// Its page, http://127.0.0.1:8080/, shows the sale and its locks while it runs.
//
// Locks can be in three places, and here they are in all of them: around an HTTP route
// (http.go), around a gRPC method (shopv1/shop.proto, grpc.go), and around a method of
// the service (shop.go). They are declared in lock.go, and for gRPC in shop.proto.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if os.Getenv(roleEnv) == lateRole {
		if err := lateOrder(context.Background(), os.Args[1:], os.Stdin, os.Stdout, asAlways); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, signals have their default effect again: a second one
	// ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
