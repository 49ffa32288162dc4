package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// wrapPlan calls a decorated function in this process:
//
//	@DistributedLock(prefix="my-", value="test", keyTimeout=3000, retryCount=0, paramLock=true, retryInterval=200)
//	test(String, int, Object)
//
// It reads a counter, waits for -hold, and writes the counter back plus one. The read
// and the write are each atomic, so the program has no data race, but they are not
// atomic together: without the lock the last write wins, and the other increments are
// lost.
type wrapPlan struct {
	cfg      *config
	counters []atomic.Int64 // one for each key
	test     distlock.Func[testParams, int64]
	end      func() error
}

// testParams are the parameters of test. Together they are the key.
type testParams struct {
	S string
	N int // the index of the counter
	O any
}

// openWrapPlan also opens the backend for a run without the lock, because a bad
// -backend is a mistake in either case.
func openWrapPlan(ctx context.Context, c *config, locked bool) (plan, error) {
	b, err := backendurl.Open(ctx, c.backend)
	if err != nil {
		return nil, err
	}
	return newWrapPlan(c, b.Backend, b.Close, locked), nil
}

func newWrapPlan(c *config, b driver.Backend, end func() error, locked bool) *wrapPlan {
	p := &wrapPlan{cfg: c, counters: make([]atomic.Int64, c.usedKeys())}
	locker := distlock.New(b, distlock.Config{MaxWaiters: c.group.users})
	p.end = func() error { return errors.Join(locker.Close(), end()) }
	p.test = p.increment
	if locked {
		p.test = distlock.Wrap(locker, p.increment, distlock.Opts{
			Prefix: "my-", Value: "test", ParamLock: true, KeyTimeout: 3 * time.Second, RetryInterval: 200 * time.Millisecond,
			MaxWaiters: c.group.users,
		})
	}
	return p
}

// increment is the function under test, the same with and without the lock.
func (p *wrapPlan) increment(ctx context.Context, r testParams) (int64, error) {
	counter := &p.counters[r.N]
	i := counter.Load()
	if err := p.meanwhile(ctx); err != nil {
		return 0, err
	}
	counter.Store(i + 1)
	return i + 1, nil
}

// meanwhile runs between reading and writing. Without -hold it yields: the scheduler
// runs another goroutine first. The function is so short that otherwise hardly any two
// users would overlap on a machine with few processors, and the lock would have nothing
// to prevent. The run with the lock makes the same yield, so the comparison is fair.
func (p *wrapPlan) meanwhile(ctx context.Context) error {
	if p.cfg.hold == 0 {
		runtime.Gosched()
	} else if !pause(ctx, p.cfg.hold) {
		return context.Cause(ctx)
	}
	// A process that was stopped for longer than the lease must not write.
	if lease, ok := distlock.FromContext(ctx); ok {
		return lease.Check()
	}
	return nil
}

func (p *wrapPlan) sample(ctx context.Context, user int) result {
	// Use a new object each time: only its content is part of the key.
	params := testParams{S: "bench", N: user % p.cfg.keys, O: &struct{ Name string }{"object"}}
	if _, err := p.test(ctx, params); err != nil {
		return result{err: err, code: "500", message: "Error"}
	}
	return result{code: "200", message: "OK"}
}

func (p *wrapPlan) counted(context.Context) (int64, error) {
	var sum int64
	for i := range p.counters {
		sum += p.counters[i].Load()
	}
	return sum, nil
}

func (p *wrapPlan) close() error { return p.end() }
