package main

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/driver"
)

// plan calls a decorated function in this process, in one run:
//
//	@DistributedLock(prefix="my-", value="test", keyTimeout=3000, retryCount=0, paramLock=true, retryInterval=200)
//	test(String, int, Object)
//
// It reads a counter, waits for -hold, and writes the counter back plus one. The read
// and the write are each atomic, so the program has no data race, but they are not
// atomic together: without the lock the last write wins, and the other increments are
// lost.
type plan struct {
	cfg      *config
	counters []atomic.Int64                     // one for each key
	tests    []distlock.Func[testParams, int64] // of each locker
	end      func() error
}

// testParams are the parameters of test. Together they are the key.
type testParams struct {
	S string
	N int // the index of the counter
	O any
}

// openPlan also opens the backend for a run without the lock, because a bad -backend is a
// mistake in either case. With -lockers it opens one for each.
func openPlan(ctx context.Context, c *config, locked bool) (*plan, error) {
	p := newPlan(c)
	at := c.backend
	if at == embedded {
		server, err := miniredis.Run()
		if err != nil {
			return nil, err
		}
		server.ClockTTL(true) // keys expire in real time
		at, p.end = "redis://"+server.Addr(), func() error { server.Close(); return nil }
	}
	for range max(c.lockers, 1) {
		b, err := backendurl.Open(ctx, at)
		if err != nil {
			return nil, errors.Join(err, p.end())
		}
		p.add(b.Backend, b.Close, locked)
	}
	return p, nil
}

// embedded is the -backend that is a Redis in this process.
const embedded = "embedded"

// nameOf returns the -backend without what is secret.
func nameOf(backend string) string {
	if backend == embedded {
		return backend
	}
	return backendurl.Name(backend)
}

func newPlan(c *config) *plan {
	return &plan{cfg: c, counters: make([]atomic.Int64, min(c.keys, c.group.users)), end: func() error { return nil }}
}

// add adds a Locker over b, which end closes.
func (p *plan) add(b driver.Backend, end func() error, locked bool) {
	i := len(p.tests)
	config := distlock.Config{MaxWaiters: 5 * p.cfg.group.users} // a fifth for one key
	if p.cfg.elected != nil {
		config.Holder = lockerName(i)
	}
	locker := distlock.New(b, config)
	earlier := p.end
	p.end = func() error { return errors.Join(locker.Close(), end(), earlier()) }
	test := func(ctx context.Context, r testParams) (int64, error) { return p.increment(ctx, i, r) }
	if locked {
		test = distlock.Wrap(locker, test, distlock.Opts{
			Prefix: "my-", Value: "test", ParamLock: true, KeyTimeout: 3 * time.Second, RetryInterval: 200 * time.Millisecond,
		})
	}
	p.tests = append(p.tests, test)
}

// increment is the function under test, the same with and without the lock.
func (p *plan) increment(ctx context.Context, locker int, r testParams) (int64, error) {
	counter := &p.counters[r.N]
	i := counter.Load()
	hold := p.cfg.hold.draw()
	if p.cfg.elected != nil {
		p.cfg.elected.lead(locker, hold)
	}
	if err := p.meanwhile(ctx, hold); err != nil {
		return 0, err
	}
	counter.Store(i + 1)
	return i + 1, nil
}

// meanwhile runs between reading and writing. Without -hold it yields: the scheduler
// runs another goroutine first. The function is so short that otherwise hardly any two
// users would overlap on a machine with few processors, and the lock would have nothing
// to prevent. The run with the lock makes the same yield, so the comparison is fair.
func (p *plan) meanwhile(ctx context.Context, hold time.Duration) error {
	if hold == 0 {
		runtime.Gosched()
	} else if !pause(ctx, hold) {
		return context.Cause(ctx)
	}
	// A process that was stopped for longer than the lease must not write.
	if lease, ok := distlock.FromContext(ctx); ok {
		return lease.Check()
	}
	return nil
}

// sample does one sample of a user. It is called concurrently.
func (p *plan) sample(ctx context.Context, user int) error {
	// Use a new object each time: only its content is part of the key.
	params := testParams{S: "bench", N: user % p.cfg.keys, O: &struct{ Name string }{"object"}}
	locker := user % len(p.tests)
	if p.cfg.elected != nil {
		p.cfg.elected.ask(locker)
	}
	_, err := p.tests[locker](ctx, params)
	return err
}

// counted returns the sum of all counters.
func (p *plan) counted() (sum int64) {
	for i := range p.counters {
		sum += p.counters[i].Load()
	}
	return sum
}
