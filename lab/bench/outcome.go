package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// grace is how long samples may continue after an interrupt.
const grace = 2 * time.Second

// outcome is the result of one run.
type outcome struct {
	label   string
	locked  bool
	counted int64 // sum of the counters

	mu       sync.Mutex
	samples  []sample // in the order in which they ended
	cutShort int64    // samples that an interrupt ended; they are not among the samples
}

// runPlan does one run of a plan, and closes the plan.
func runPlan(ctx context.Context, c *config, p *plan, locked bool) (*outcome, error) {
	o := &outcome{label: "wrap lock", locked: locked}
	if !locked {
		o.label = "wrap no lock"
	}
	o.run(ctx, c.group, p)
	o.counted = p.counted()
	return o, p.end()
}

// run returns when all samples are done. When ctx ends, no further sample begins, and
// the current ones are cut short after a grace period.
func (o *outcome) run(ctx context.Context, g threadGroup, p *plan) {
	samples, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cut) })()
	g.run(ctx, func(user int) {
		s := sample{start: time.Now(), user: user}
		s.err = p.sample(samples, user)
		s.elapsed = max(time.Since(s.start).Round(time.Microsecond), time.Microsecond)
		o.mu.Lock()
		defer o.mu.Unlock()
		if s.err != nil && samples.Err() != nil {
			o.cutShort++ // says nothing about the lock
		} else {
			o.samples = append(o.samples, s)
		}
	})
}

// failed returns the number of failed samples, and the error of the first.
func (o *outcome) failed() (n int64, first error) {
	for _, s := range o.samples {
		if s.err != nil {
			n, first = n+1, cmp.Or(first, s.err)
		}
	}
	return n, first
}

// expected returns the number of confirmed increments.
func (o *outcome) expected() int64 {
	failed, _ := o.failed()
	return int64(len(o.samples)) - failed
}

// lost returns how many confirmed increments are missing. It is negative if the
// counters have more increments than were confirmed: the lock was lost behind one.
func (o *outcome) lost() int64 { return o.expected() - o.counted }

// counters returns one line about the counters.
func (o *outcome) counters() string {
	s := fmt.Sprintf("%s: %s of %s increments", o.label, group(o.counted), group(o.expected()))
	switch lost := o.lost(); {
	case lost > 0:
		s += fmt.Sprintf(", %s lost", group(lost))
	case lost < 0:
		s += fmt.Sprintf(", %s more than were confirmed", group(-lost))
	}
	if failed, first := o.failed(); failed > 0 {
		s += fmt.Sprintf("; %s of %s samples failed, the first with: %s", group(failed), group(int64(len(o.samples))), oneLine(first.Error()))
	}
	if o.cutShort > 0 {
		s += fmt.Sprintf("; cut short: %s", group(o.cutShort))
	}
	return s
}

// verdict returns an error if the run did not show what it should. Without the lock,
// lost increments are expected.
func (o *outcome) verdict() error {
	switch _, first := o.failed(); {
	case first != nil && o.expected() == 0:
		return fmt.Errorf("%s: all samples failed, the first with: %w", o.label, first)
	case o.locked && o.lost() > 0:
		return fmt.Errorf("%s: %s increments lost in spite of the lock", o.label, group(o.lost()))
	default:
		return nil
	}
}
