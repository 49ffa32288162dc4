package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// counter is what the lock protects. The function add is:
//
//	@DistributedLock(prefix="my-", value="test", keyTimeout=3000, retryCount=0, paramLock=true, retryInterval=200)
//	test(String, int, Object)
//
// It reads a counter, waits for -hold, and writes the counter back plus one. The read
// and the write are each atomic, so the program has no data race, but they are not
// atomic together: without the lock the last write wins, and the other increments are
// lost.
type counter struct {
	keys []atomic.Int64
	hold time.Duration
}

// testParams are the parameters of the function. Together they are the key.
type testParams struct {
	S string
	N int // the index of the counter
	O any
}

var testLock = distlock.Opts{Prefix: "my-", Value: "test", ParamLock: true, KeyTimeout: 3 * time.Second, RetryInterval: 200 * time.Millisecond}

// add is the function under test, the same with and without the lock.
func (c *counter) add(ctx context.Context, r testParams) (int64, error) {
	i := c.keys[r.N].Load()
	// Without -hold it yields: the scheduler runs another goroutine first. The function is so
	// short that otherwise hardly any two users would overlap on a machine with few processors,
	// and the lock would have nothing to prevent.
	if runtime.Gosched(); c.hold > 0 && !pause(ctx, c.hold) {
		return 0, context.Cause(ctx)
	}
	// A process that was stopped for longer than the lease must not write.
	if lease, ok := distlock.FromContext(ctx); ok && lease.Check() != nil {
		return 0, lease.Check()
	}
	c.keys[r.N].Store(i + 1)
	return i + 1, nil
}

// sum returns the sum of all counters.
func (c *counter) sum() (sum int64) {
	for i := range c.keys {
		sum += c.keys[i].Load()
	}
	return sum
}
