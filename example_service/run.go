package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
)

// grace is how long requests may take to end at shutdown.
const grace = 10 * time.Second

// run serves until ctx ends. It closes everything in reverse order: requests, then the
// locks, then the client of Redis.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	cfg, err := parseFlags(args, stderr)
	if err != nil {
		return err
	}
	level := slog.LevelWarn
	if cfg.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))

	web, err := net.Listen("tcp", cfg.httpAddr) //nolint:noctx // it does not block
	if err != nil {
		return fmt.Errorf("-http: %w", err)
	}
	defer web.Close()                           //nolint:errcheck // usually the server has closed it
	rpc, err := net.Listen("tcp", cfg.grpcAddr) //nolint:noctx // it does not block
	if err != nil {
		return fmt.Errorf("-grpc: %w", err)
	}
	defer rpc.Close() //nolint:errcheck // usually the server has closed it

	client, redisURL, closeRedis, err := openRedis(cfg.redis)
	if err != nil {
		return err
	}
	defer closeRedis()
	locker := distlock.New(redislock.New(client, redislock.Config{}), distlock.Config{Hooks: distlock.LogHooks(log)})
	defer locker.Close() //nolint:errcheck // the log has what failed

	sh := newShop(locker, itemLock(cfg), stock{client}, cfg.think)
	page := newPage(ctx, cfg, sh, locker, redisURL)

	mux := http.NewServeMux()
	shopRoutes(mux, sh, locker, itemLock(cfg))
	page.routes(mux)
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	httpServer := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 5 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return base },
	}
	httpServer.RegisterOnShutdown(page.close)
	grpcServer := newGRPCServer(sh, locker, itemLock(cfg))

	ctx, fail := context.WithCancelCause(ctx)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := httpServer.Serve(web); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("HTTP: %w", err))
		}
	})
	serving.Go(func() {
		if err := grpcServer.Serve(rpc); err != nil {
			fail(fmt.Errorf("gRPC: %w", err))
		}
	})
	_, _ = fmt.Fprintf(stdout, "page on http://%s/\nhttp on %[1]s\ngrpc on %[2]s\n", web.Addr(), rpc.Addr())
	<-ctx.Done()
	end := time.AfterFunc(grace, func() {
		cut() // all HTTP requests
		_ = httpServer.Close()
		grpcServer.Stop()
	})
	defer end.Stop()
	_ = httpServer.Shutdown(context.WithoutCancel(ctx))
	grpcServer.GracefulStop()
	serving.Wait()
	page.runs.Wait()
	_, _ = fmt.Fprintln(stdout, "stopped")
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// openRedis returns a client of the Redis at a URL. Without a URL it starts a Redis in
// this process, which listens for the second process of the page.
func openRedis(redisURL string) (client *redis.Client, usedURL string, closeAll func(), err error) {
	if redisURL != "" {
		o, err := redis.ParseURL(redisURL)
		if err != nil {
			return nil, "", nil, errors.New("-redis: want redis://[user:password@]host:port/db") // the URL may have a password
		}
		client = redis.NewClient(o)
		return client, redisURL, func() { _ = client.Close() }, nil
	}
	server, err := miniredis.Run()
	if err != nil {
		return nil, "", nil, err
	}
	server.ClockTTL(true) // leases expire by themselves
	client = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return client, "redis://" + server.Addr() + "/0", func() { _ = client.Close(); server.Close() }, nil
}
