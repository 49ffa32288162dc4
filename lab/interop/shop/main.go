// Command shop is the Go side of a service that moves from Spring Boot to Go, one method
// at a time, while both serve. The Spring side is in the directory java. README.md is the
// walk-through.
//
//	go run ./lab/interop/shop -redis 127.0.0.1:6379 -java http://127.0.0.1:8080 -http 127.0.0.1:8081
//
// It is also the front of both sides: it serves a share of the requests of each method,
// at first none, and passes the others on to Spring.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock"
)

func main() {
	redisAddr := flag.String("redis", "127.0.0.1:6379", "address of the Redis that both sides use")
	javaURL := flag.String("java", "http://127.0.0.1:8080", "URL of the Spring side")
	addr := flag.String("http", "127.0.0.1:8081", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, *redisAddr, *javaURL, *addr)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// serve runs the Go side and the front until ctx ends.
func serve(ctx context.Context, redisAddr, javaURL, addr string) error {
	spring, err := url.Parse(javaURL)
	if err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: redisAddr})
	defer rdb.Close() //nolint:errcheck // nothing is lost
	s := newShop(rdb, redislock.WithFreeRelease())
	defer s.close()
	go s.report(ctx)

	server := &http.Server{Addr: addr, Handler: newFront(s, spring), ReadHeaderTimeout: 5 * time.Second}
	stopped := context.AfterFunc(ctx, func() { _ = server.Shutdown(context.WithoutCancel(ctx)) })
	defer stopped()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
