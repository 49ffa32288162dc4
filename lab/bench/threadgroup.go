package main

import (
	"context"
	"sync"
	"time"
)

// threadGroup says how many users there are and how fast they go: JMeter's thread group
// with a constant timer.
type threadGroup struct {
	users  int
	loops  int
	rampUp time.Duration // time over which the users start, evenly
	think  time.Duration // pause before each sample, also the first
}

// startOf returns when user i starts, counted from the start of the group.
func (g threadGroup) startOf(i int) time.Duration {
	whole, rest := g.rampUp/time.Duration(g.users), g.rampUp%time.Duration(g.users)
	return whole*time.Duration(i) + rest*time.Duration(i)/time.Duration(g.users)
}

// run calls sample for each sample of each user, for several users at a time, with the
// number of the user. When ctx ends, no further sample begins; run returns when all samples
// have ended.
func (g threadGroup) run(ctx context.Context, sample func(user int)) {
	var users sync.WaitGroup
	defer users.Wait()
	start := time.Now()
	for i := range g.users {
		if !pause(ctx, time.Until(start.Add(g.startOf(i)))) {
			return
		}
		users.Go(func() {
			for range g.loops {
				if !pause(ctx, g.think) {
					return
				}
				sample(i)
			}
		})
	}
}

// pause waits for d. It returns false if ctx has ended.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
