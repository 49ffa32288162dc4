package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The names of the probes. They measure limits of the server and the network, which a lock
// cannot exceed, and run as peers do.
const (
	ping     = "ping"
	publish  = "publish"
	pipeline = "pipeline"
)

func nothing(context.Context) error { return nil }

// newPing measures a round trip.
func newPing(c *redis.Client) lockFunc {
	return func(ctx context.Context, _ string) (unlockFunc, error) { return nothing, c.Ping(ctx).Err() }
}

// newPublish measures how long a message takes from one process through the server to
// another. Two processes answer each other, like two processes that take turns with a
// lock: the one that has got the message has the lock.
func newPublish(t task) (lockFunc, error) {
	c, err := newClient(t)
	if err != nil {
		return nil, err
	}
	to := func(proc int) string { return t.Key + ":" + strconv.Itoa(proc) }
	ctx := context.Background() // the time limit is the parent's
	sub := c.Subscribe(ctx, to(t.Proc))
	if _, err := sub.Receive(ctx); err != nil { // the confirmation
		return nil, err
	}
	begins := t.Proc == 0
	return func(ctx context.Context, key string) (unlockFunc, error) {
		switch {
		case key != t.Key: // to warm up
			return nothing, c.Ping(ctx).Err()
		case begins:
			begins = false
		default:
			// If none comes for a while, the other process has ended: this one then takes the
			// lock from itself, which is no hand-over.
			_, err := sub.ReceiveTimeout(ctx, 200*time.Millisecond)
			if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
				return nil, err
			}
		}
		return func(ctx context.Context) error { return c.Publish(ctx, to(1-t.Proc), "").Err() }, nil
	}, nil
}

// The pipeline is filled as redis-benchmark -c 50 -P 32 does it.
const (
	pipelineConns = 50
	pipelinePairs = 16 // of two commands each
)

// newPipeline measures how many bare pairs the server can execute if the client costs
// almost nothing: requests are prepared in advance, many pairs are in one write, and
// replies are compared and not parsed. A call is one such write, whatever its key.
func newPipeline(t task) (lockFunc, error) {
	c, err := newClient(t)
	if err != nil {
		return nil, err
	}
	if err := bareUnlock.Load(context.Background(), c).Err(); err != nil {
		return nil, err
	}
	type conn struct {
		net.Conn
		batch []byte
	}
	idle := make(chan conn, t.Goroutines)
	for i := range t.Goroutines {
		one, err := net.Dial("tcp", c.Options().Addr)
		if err != nil {
			return nil, err
		}
		idle <- conn{one, bytes.Repeat(pair(fmt.Sprintf("%s:%d", t.Key, i)), pipelinePairs)}
	}
	want := bytes.Repeat([]byte("+OK\r\n:1\r\n"), pipelinePairs)
	return func(context.Context, string) (unlockFunc, error) {
		c := <-idle
		defer func() { idle <- c }()
		_, err := c.Write(c.batch)
		got := make([]byte, len(want))
		if err == nil {
			_, err = io.ReadFull(c, got)
		}
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("the server answered %q", got)
		}
		return nothing, err
	}, nil
}

// pair returns a lock and an unlock on the wire.
func pair(key string) []byte {
	const owner = "00000000-0000-4000-8000-000000000000"
	lease := strconv.FormatInt(leaseTime.Milliseconds(), 10)
	return append(command("SET", key, owner, "NX", "PX", lease),
		command("EVALSHA", bareUnlock.Hash(), "1", key, owner)...)
}

func command(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}
