package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// serverBinary is looked up in PATH.
const serverBinary = "redis-server"

// startServers starts the servers that the scenarios need and cfg does not name, and
// sets their URLs in cfg. If a server is missing, it prints a note and the scenarios
// without it run; it is an error if none are left.
func startServers(ctx context.Context, cfg *config, progress io.Writer) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	var inRedis, inZooKeeper, replicated bool
	for _, s := range cfg.scenarios() {
		switch {
		case s.inZooKeeper:
			inZooKeeper = true
		case s.replicated:
			replicated = true
		default:
			inRedis = true
		}
	}
	if replicated {
		switch _, err := exec.LookPath(serverBinary); {
		case err == nil:
			cfg.replicated = true
			inRedis = true // it says which version that is
		case inRedis || inZooKeeper:
			_, _ = fmt.Fprintf(progress, "F16 is left out: %v\n", err)
		default:
			return nil, fmt.Errorf("F16: %w", err)
		}
	}
	if inRedis && cfg.redis == "" {
		url, kill, err := startServer(ctx)
		if err != nil {
			return nil, err
		}
		stops = append(stops, kill)
		cfg.redis = url
	}
	if inZooKeeper {
		url, kill, err := startZooKeeper(ctx)
		switch {
		case err == nil:
			stops = append(stops, kill)
			cfg.zooKeeper = url
		case inRedis && errors.Is(err, errNoZooKeeper):
			_, _ = fmt.Fprintf(progress, "F14 is left out: %v\n", err)
		default:
			stop()
			return nil, fmt.Errorf("F14: %w", err)
		}
	}
	return stop, nil
}

// startServer starts a Redis without persistence on a free port, with options like
// those of its command line. It returns the URL and a function that stops it.
func startServer(ctx context.Context, options ...string) (url string, stop func(), err error) {
	bin, err := exec.LookPath(serverBinary)
	if err != nil {
		return "", nil, fmt.Errorf("-redis is empty, and there is no %s to start: %w", serverBinary, err)
	}
	dir, err := os.MkdirTemp("", "peers-redis")
	if err != nil {
		return "", nil, err
	}
	// Another process may take the port before the server listens on it.
	var kill func()
	for range 5 {
		if url, kill, err = tryServer(ctx, bin, dir, options); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return url, func() { kill(); _ = os.RemoveAll(dir) }, nil
}

func tryServer(ctx context.Context, bin, dir string, options []string) (string, func(), error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()

	var output bytes.Buffer
	cmd := exec.Command(bin, append([]string{
		"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir,
		"--save", "", "--appendonly", "no", "--maxclients", "4000",
	}, options...)...)
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	stop := func() {
		_ = cmd.Process.Kill() // it has no data to save
		<-exited
	}

	url := fmt.Sprintf("redis://127.0.0.1:%d/0", port)
	c := redis.NewClient(&redis.Options{Addr: l.Addr().String(), MaxRetries: -1})
	defer c.Close() //nolint:errcheck // nothing is lost
	for limit := time.Now().Add(10 * time.Second); ; {
		if c.Ping(ctx).Err() == nil {
			return url, stop, nil
		}
		select {
		case <-exited:
			return "", nil, fmt.Errorf("%s does not start: %s", bin, bytes.TrimSpace(output.Bytes()))
		case <-time.After(5 * time.Millisecond):
		}
		if ctx.Err() != nil || time.Now().After(limit) {
			stop()
			return "", nil, fmt.Errorf("%s does not answer", bin)
		}
	}
}
