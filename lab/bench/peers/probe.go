package main

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// probes measure limits of the server and the network, which a lock cannot exceed. They
// run as peers do.
var probes = map[string]func(task) (do func(context.Context, order) report, end func(), err error){
	"ping":     newPing,
	"publish":  newPublish,
	"pipeline": newPipeline,
}

// newPing measures a round trip.
func newPing(t task) (func(context.Context, order) report, func(), error) {
	c, err := newClient(t.URL)
	if err != nil {
		return nil, nil, err
	}
	end := func() { _ = c.Close() }
	if err := c.Ping(context.Background()).Err(); err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, o order) report {
		return repeat(o, func() (time.Duration, bool, error) {
			began := time.Now()
			err := c.Ping(ctx).Err()
			return time.Since(began), true, err
		})
	}, end, nil
}

// newPublish measures how long a message takes from one process through the server to
// another. Two processes answer each other, like two processes that take turns with a
// lock.
func newPublish(t task) (func(context.Context, order) report, func(), error) {
	c, err := newClient(t.URL)
	if err != nil {
		return nil, nil, err
	}
	mine, other := t.Key+":"+strconv.Itoa(t.Proc), t.Key+":"+strconv.Itoa(1-t.Proc)
	sub := c.Subscribe(context.Background(), mine)
	end := func() { _, _ = sub.Close(), c.Close() }
	if _, err := sub.Receive(context.Background()); err != nil { // the confirmation
		return nil, nil, err
	}
	publish := func(ctx context.Context) error {
		return c.Publish(ctx, other, time.Now().UnixNano()).Err()
	}
	return func(ctx context.Context, o order) report {
		if t.Proc == 0 {
			if err := publish(ctx); err != nil {
				return report{FirstError: err.Error(), Errors: 1}
			}
		}
		return repeat(o, func() (time.Duration, bool, error) {
			d, ok, err := receive(ctx, sub)
			if err == nil && ok {
				err = publish(ctx)
			}
			return d, ok, err
		})
	}, end, nil
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
	if isTimeout(err) {
		err = nil
	}
	return 0, false, err
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// repeat measures for as long as the order says. It counts only results that are ok.
func repeat(o order, measure func() (d time.Duration, ok bool, err error)) report {
	start := time.Unix(0, o.Start)
	time.Sleep(time.Until(start))
	r := report{Start: o.Start, Finished: true}
	for end := start.Add(o.For); time.Now().Before(end); {
		d, ok, err := measure()
		if err != nil {
			r.Finished, r.Errors, r.FirstError = false, r.Errors+1, err.Error()
			break
		}
		if ok {
			r.Locks++
			r.Waits.add(d)
		}
	}
	r.End = time.Now().UnixNano()
	return r
}
