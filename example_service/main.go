// Command example_service is a flash sale: there are only so many of an item,
// and everybody orders at once, over HTTP and over gRPC. An order reads the
// stock, thinks about it, and writes back what is left, so that without a lock
// it sells more than there is. The routes below /unlocked show that; all others
// take one lock for each item, whichever way they come.
//
//	go run ./example_service -http 127.0.0.1:8080 -grpc 127.0.0.1:9090 -backend embedded
//
// The locks are in the three places where they can be: around an HTTP route
// (http.go), around a gRPC method (shopv1/shop.proto, grpc.go), and around a
// method of the service (shop.go). What they are is declared in lock.go, and for
// gRPC in shop.proto.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// From the first signal on they do again what they do by default: a second
	// one ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
