package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// grace is how long samples may continue after an interrupt.
const grace = 2 * time.Second

// load is one run of a plan by a thread group.
type load struct {
	cfg    *config
	plan   plan
	locked bool
	label  string
	number int // number of the thread group in the JTL file
	jtl    *jtlWriter

	mu    sync.Mutex
	tally *tally // guarded by mu

	cutShort atomic.Int64
	failure  atomic.Pointer[error]
}

// labelOf returns the name of a run in the table and the JTL file.
func labelOf(plan string, locked bool) string {
	if locked {
		return plan + " lock"
	}
	return plan + " no lock"
}

// runLoad does one run, as thread group number n. If it fails, it returns the outcome
// so far, if there is one.
func runLoad(ctx context.Context, c *config, locked bool, n int, jtl *jtlWriter) (*outcome, error) {
	p, err := openPlan(ctx, c, locked)
	if err != nil {
		return nil, err
	}
	l := newLoad(c, p, locked)
	l.number, l.jtl = n, jtl
	l.run(ctx)
	o, err := l.outcome(ctx)
	if closeErr := p.close(); err == nil {
		err = closeErr
	}
	return o, err
}

func newLoad(c *config, p plan, locked bool) *load {
	return &load{cfg: c, plan: p, locked: locked, label: labelOf(c.plan, locked), number: 1, tally: newTally()}
}

// outcome reads the counters, also after an interrupt.
func (l *load) outcome(ctx context.Context) (*outcome, error) {
	o := &outcome{label: l.label, locked: l.locked, tally: l.tally, cutShort: l.cutShort.Load()}
	if f := l.failure.Load(); f != nil {
		o.failure = *f
	}
	counted, err := l.plan.counted(context.WithoutCancel(ctx))
	if err != nil {
		return o, fmt.Errorf("%s: the counter cannot be read: %w", l.label, err)
	}
	o.counted = &counted
	return o, nil
}

// run returns when all samples are done. When ctx ends, no further sample begins, and
// the current ones are cut short after a grace period.
func (l *load) run(ctx context.Context) {
	samples, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })()
	l.cfg.group.run(ctx, func(user int, active int64) { l.sample(samples, user, active) })
}

func (l *load) sample(ctx context.Context, user int, active int64) {
	start := time.Now()
	r := l.plan.sample(ctx, user)
	elapsed := time.Since(start)

	if r.err != nil {
		if ctx.Err() != nil {
			l.cutShort.Add(1) // says nothing about the lock
			return
		}
		l.failure.CompareAndSwap(nil, &r.err)
	}
	l.mu.Lock()
	l.tally.add(start, elapsed, r.err == nil)
	l.mu.Unlock()
	l.jtl.write(jtlSample{
		start: start, elapsed: elapsed, label: l.label, group: l.number, user: user, active: active, result: r,
	})
}
