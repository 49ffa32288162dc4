package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
)

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// run is the command: it serves until ctx ends and returns the exit code. An error is
// one line on stderr.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fail := func(code int, err error) int {
		_, _ = fmt.Fprintln(stderr, "example_service:", err)
		return code
	}
	cfg, err := parseFlags(args, stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return fail(exitUsage, err)
	}
	err = start(ctx, cfg, stdout, stderr)
	switch {
	case errors.Is(err, backendurl.ErrURL):
		return fail(exitUsage, err)
	case err != nil:
		return fail(exitError, err)
	}
	_, _ = fmt.Fprintln(stdout, "stopped")
	return exitOK
}

// start builds the service, serves until ctx ends, and closes everything in reverse
// order: requests, then the locks, then the store.
func start(ctx context.Context, cfg config, stdout, stderr io.Writer) (err error) {
	closing := func(what string, f func() error) {
		if closeErr := f(); closeErr != nil && err == nil {
			err = fmt.Errorf("closing the %s: %w", what, closeErr)
		}
	}
	level := slog.LevelInfo
	if cfg.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))

	// Listen first, because a port in use is the most common mistake.
	httpListener, err := listen(ctx, "-http", cfg.httpAddr)
	if err != nil {
		return err
	}
	defer httpListener.Close() //nolint:errcheck // usually the server has closed it
	grpcListener, err := listen(ctx, "-grpc", cfg.grpcAddr)
	if err != nil {
		return err
	}
	defer grpcListener.Close() //nolint:errcheck // usually the server has closed it

	items, err := openStore(ctx, cfg.db)
	if err != nil {
		return fmt.Errorf("-db: %w", err)
	}
	defer closing("database", items.close)
	backend, err := backendurl.Open(ctx, cfg.backend)
	if err != nil {
		return err
	}
	defer closing("backend", backend.Close)
	lock := itemLock(cfg)
	ledger, err := newLedger(lock)
	if err != nil {
		return err
	}
	monitor := newMonitor(log)
	counts, metrics := newMetrics()
	locker := distlock.New(backend.Backend, distlock.Config{Hooks: distlock.JoinHooks(distlock.LogHooks(log), counts, monitor.hooks(), ledger.hooks())})
	defer closing("locker", locker.Close)
	monitor.ping = locker.Ping

	shop := newShop(locker, lock, items, ledger, thinkFor(cfg.think))
	page := newPage(cfg, shop, locker, backend, log)
	endPage := page.start(ctx)
	defer endPage()
	api := &httpAPI{shop: shop, page: page, monitor: monitor, metrics: metrics, bodyTimeout: cfg.bodyTimeout, log: log}
	web, err := api.handler(locker, lock)
	if err != nil {
		return err
	}
	s := newServers(ctx, cfg, web, newGRPCServer(shop, locker, lock, monitor, log), log)
	s.http.RegisterOnShutdown(endPage)
	stop := monitor.start(ctx)
	defer stop()

	_, _ = fmt.Fprintln(stdout, "page on", pageURL(httpListener.Addr()))
	_, _ = fmt.Fprintln(stdout, "http on", httpListener.Addr())
	_, _ = fmt.Fprintln(stdout, "grpc on", grpcListener.Addr())
	return s.serve(ctx, httpListener, grpcListener)
}

func listen(ctx context.Context, flagName, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flagName, err)
	}
	return l, nil
}

// pageURL returns the address of the page for a browser on this machine.
func pageURL(addr net.Addr) string {
	host, port, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + "/"
}
