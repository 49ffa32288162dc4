package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
)

// wrapOnMemlock does a run of the plan on memlock.
func wrapOnMemlock(ctx context.Context, t *testing.T, locked bool, args ...string) *outcome {
	t.Helper()
	c := mustParse(t, args...)
	p := newPlan(c)
	p.add(memlock.New(), func() error { return nil }, locked)
	o, err := runPlan(ctx, c, p, locked)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func wantIncrements(t *testing.T, o *outcome, expected, counted int64) {
	t.Helper()
	if o.expected() != expected || o.counted != counted {
		t.Errorf("got %q, want %d of %d", o.counters(), counted, expected)
	}
}

// Users that overlap have read the same value, so one increment of each round is left.
func TestWrapUnlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := wrapOnMemlock(t.Context(), t, false, "-users", "7", "-loops", "3", "-ramp-up", "0", "-think", "10ms", "-hold", "5ms")
		wantIncrements(t, o, 21, 3)
		if s := statsOf(o.samples); s.percentile(0) != 5*time.Millisecond || s.percentile(100) != 5*time.Millisecond {
			t.Errorf("samples took %v, want 5ms: think time is not in them", s.times)
		}
	})
}

// Under the lock, holds of the same key follow each other.
func TestWrapKeys(t *testing.T) {
	t.Parallel()
	for keys, longest := range map[string]time.Duration{
		"1": 60 * time.Millisecond, "2": 30 * time.Millisecond, "6": 10 * time.Millisecond, "100": 10 * time.Millisecond,
	} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := wrapOnMemlock(t.Context(), t, true, "-users", "6", "-loops", "1", "-ramp-up", "0", "-think", "0", "-hold", "10ms", "-keys", keys)
				wantIncrements(t, o, 6, 6)
				if got := statsOf(o.samples).percentile(100); got != longest {
					t.Errorf("the longest sample took %v, want %v", got, longest)
				}
			})
		})
	}
}

// A sample that an interrupt ends does not count; one that finishes in time does.
func TestInterruptOfLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer interrupt()
		start := time.Now()
		o := wrapOnMemlock(ctx, t, true, "-users", "10", "-loops", "5", "-ramp-up", "0", "-think", "0", "-hold", "500ms")
		if took := time.Since(start); took != 700*time.Millisecond+grace {
			t.Errorf("the load ended after %v, want it %v after the interrupt", took, grace)
		}
		// Holds end at 0.5, 1, 1.5, 2 and 2.5 s. The tenth user waits again, as do the
		// users that have not entered: all were in the queue before the interrupt.
		wantIncrements(t, o, 5, 5)
		if failed, _ := o.failed(); o.cutShort != 6 || failed != 0 {
			t.Errorf("%d samples cut short, %d errors, want 6 and none", o.cutShort, failed)
		}
	})
}
