package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// startReplicated starts a Redis and a replica of it: a server counts what it sends to
// replicas only if it has one. It returns a client of the first server, and a function
// that stops both.
func startReplicated(ctx context.Context) (_ *redis.Client, stop func(), err error) {
	url, stopServer, err := startServer(ctx, "--repl-diskless-sync-delay", "0")
	if err != nil {
		return nil, nil, err
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		stopServer()
		return nil, nil, err
	}
	host, port, _ := net.SplitHostPort(o.Addr)
	_, stopReplica, err := startServer(ctx, "--replicaof", host, port)
	if err != nil {
		stopServer()
		return nil, nil, err
	}
	c := redis.NewClient(o)
	stop = func() {
		_ = c.Close()
		stopReplica()
		stopServer()
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		n, err := readCounters(ctx, c)
		if err == nil && n.replicas > 0 {
			return c, stop, nil
		}
		if err == nil {
			err = pause(ctx, 10*time.Millisecond)
		}
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("waiting for the replica: %w", err)
		}
	}
}
