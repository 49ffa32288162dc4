package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// probes measure limits of the server and the network, which a lock cannot exceed. They
// run as peers do.
var probes = map[string]func(task) (do func(order) report, end func(), err error){
	"ping":     newPing,
	"publish":  newPublish,
	"pipeline": newPipeline,
}

// newPing measures a round trip.
func newPing(t task) (func(order) report, func(), error) {
	c, err := newClient(t.URL)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	do := func(o order) report {
		return repeat(o, func() (time.Duration, bool, error) {
			began := time.Now()
			err := c.Ping(ctx).Err()
			return time.Since(began), true, err
		})
	}
	return do, func() { _ = c.Close() }, c.Ping(ctx).Err()
}

// newPublish measures how long a message takes from one process through the server to
// another. Two processes answer each other, like two processes that take turns with a
// lock.
func newPublish(t task) (func(order) report, func(), error) {
	c, err := newClient(t.URL)
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	sub := c.Subscribe(ctx, t.Key+":"+strconv.Itoa(t.Proc))
	_, err = sub.Receive(ctx) // the confirmation
	publish := func() error {
		return c.Publish(ctx, t.Key+":"+strconv.Itoa(1-t.Proc), time.Now().UnixNano()).Err()
	}
	do := func(o order) report {
		if t.Proc == 0 {
			if err := publish(); err != nil {
				return report{Err: err.Error()}
			}
		}
		return repeat(o, func() (time.Duration, bool, error) {
			d, ok, err := receive(ctx, sub)
			if err == nil && ok {
				err = publish()
			}
			return d, ok, err
		})
	}
	return do, func() { _, _ = sub.Close(), c.Close() }, err
}

// receive waits for a message and returns its age. It returns false if none came for a
// while, because the other process has ended.
func receive(ctx context.Context, sub *redis.PubSub) (time.Duration, bool, error) {
	msg, err := sub.ReceiveTimeout(ctx, 200*time.Millisecond)
	now := time.Now()
	if m, ok := msg.(*redis.Message); ok {
		sent, err := strconv.ParseInt(m.Payload, 10, 64)
		return time.Duration(now.UnixNano() - sent), true, err
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		err = nil
	}
	return 0, false, err
}

// repeat measures for as long as the order says. It counts only results that are ok.
func repeat(o order, measure func() (d time.Duration, ok bool, err error)) report {
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))
	r := report{Finished: true}
	for end := start.Add(o.Length); time.Now().Before(end); {
		d, ok, err := measure()
		if err != nil {
			r.Finished, r.Err = false, err.Error()
			break
		}
		if ok {
			r.Locks++
			r.Samples = append(r.Samples, d)
		}
	}
	r.End = time.Now().UnixNano()
	return r
}

// The pipeline is filled like that of redis-benchmark -c 50 -P 32.
const (
	pipelineConns = 50
	pipelinePairs = 16 // of two commands each
)

// newPipeline measures how many bare pairs the server can execute if the client costs
// almost nothing: requests are prepared in advance, many pairs are in one write, and
// replies are compared and not parsed.
func newPipeline(t task) (func(order) report, func(), error) {
	c, err := newClient(t.URL)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close() //nolint:errcheck // nothing is lost
	if err := bareUnlock.Load(context.Background(), c).Err(); err != nil {
		return nil, nil, err
	}
	var conns []net.Conn
	end := func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}
	for range pipelineConns {
		conn, err := net.Dial("tcp", c.Options().Addr)
		if err != nil {
			end()
			return nil, nil, err
		}
		conns = append(conns, conn)
	}
	return func(o order) report { return fill(t, o, conns) }, end, nil
}

// fill keeps all connections busy for as long as the order says.
func fill(t task, o order, conns []net.Conn) report {
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))
	var pairs atomic.Int64
	errs := make([]error, len(conns))
	var busy sync.WaitGroup
	for i, c := range conns {
		batch := bytes.Repeat(pair(fmt.Sprintf("%s:%d", t.Key, i)), pipelinePairs)
		want := bytes.Repeat([]byte("+OK\r\n:1\r\n"), pipelinePairs)
		busy.Go(func() {
			got := make([]byte, len(want))
			for end := start.Add(o.Length); time.Now().Before(end) && errs[i] == nil; pairs.Add(pipelinePairs) {
				_, err := c.Write(batch)
				if err == nil {
					_, err = io.ReadFull(c, got)
				}
				if err == nil && !bytes.Equal(got, want) {
					err = fmt.Errorf("the server answered %q", got)
				}
				errs[i] = err
			}
		})
	}
	busy.Wait()
	r := report{End: time.Now().UnixNano(), Locks: pairs.Load(), Finished: true}
	if err := errors.Join(errs...); err != nil {
		r.Finished, r.Err = false, err.Error()
	}
	return r
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
