// Command example_service is a flash sale: the stock of an item is limited, and many
// buyers order at the same time, over HTTP and gRPC. An order reads the stock, thinks,
// and writes the rest back. Without a lock the shop sells more than it has.
//
//	go run ./example_service
//
// Its page, http://127.0.0.1:8080/, has three buttons: 200 buyers without the lock, 200
// buyers with it, and a holder of the lock that is stopped.
//
// A lock can be in three places, and here it is in all of them: around an HTTP route
// (http.go), around a gRPC method (shopv1/shop.proto, grpc.go), and around a method of
// the service (shop.go). Nothing is stored on disk, and nothing need be installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	logging.Disable()            // go-redis has a line for each connection that fails; ours is in errors.go
	var err error
	if os.Getenv(lateEnv) != "" {
		err = lateOrder(ctx, os.Args[1:], os.Stdout)
	} else {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "example_service:", err)
		os.Exit(1)
	}
}

// config holds the values of the flags.
type config struct {
	httpAddr, grpcAddr string
	redis              string // URL of the Redis with the locks and the stock; empty: one in this process
	think, wait        time.Duration
	verbose            bool
}

func parseFlags(args []string, help io.Writer) (config, error) {
	var c config
	fs := flag.NewFlagSet("example_service", flag.ContinueOnError)
	fs.SetOutput(help)
	fs.StringVar(&c.httpAddr, "http", "127.0.0.1:8080", "`address` for HTTP; port 0 selects a free port")
	fs.StringVar(&c.grpcAddr, "grpc", "127.0.0.1:9090", "`address` for gRPC; port 0 selects a free port")
	fs.StringVar(&c.redis, "redis", "", "`URL` of the Redis with the locks and the stock, redis://host:port/0 (default a Redis in this process)")
	fs.DurationVar(&c.think, "think", 2*time.Millisecond, "how long an order thinks between reading the stock and writing it")
	fs.DurationVar(&c.wait, "wait", 10*time.Second, "how long an order waits for its lock")
	fs.BoolVar(&c.verbose, "v", false, "log the events of each lock")
	if err := fs.Parse(args); err != nil {
		return c, err
	}
	switch {
	case fs.NArg() > 0:
		return c, fmt.Errorf("unexpected argument: %q", fs.Arg(0))
	case c.think < 0:
		return c, fmt.Errorf("-think: want 0 or more, got %v", c.think)
	case c.wait < time.Millisecond:
		return c, fmt.Errorf("-wait: want 1ms or more, got %v", c.wait)
	}
	return c, nil
}

// itemLock is the lock of an item. shop.proto declares the same lock for gRPC, and a
// test compares the two.
func itemLock(c config) distlock.Opts {
	return distlock.Opts{
		Prefix: "shop:", // one lock for each sku, such as shop:item:tea
		Value:  "item",
		// A crashed process blocks an item for this long. The watchdog renews the lease
		// of an order that takes longer.
		KeyTimeout: 3 * time.Second,
		// After this wait the answer is "busy", or "unavailable" if Redis is down.
		MaxWait: c.wait,
		// An order that hangs loses its lock after this time.
		MaxHold: c.think + 15*time.Second,
	}
}
