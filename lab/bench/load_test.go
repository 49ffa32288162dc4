package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
)

// loadOnMemlock does a run on memlock.
func loadOnMemlock(ctx context.Context, t *testing.T, locked bool, args ...string) *load {
	t.Helper()
	c, err := parseFlags(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	l, err := c.loadOn(ctx, memlock.New(), locked)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *load) wantIncrements(t *testing.T, confirmed, counted int64) {
	t.Helper()
	if l.confirmed() != confirmed || l.counted != counted {
		t.Errorf("got %q, want %d of %d", l.counters(), counted, confirmed)
	}
}

// times returns how long the shortest and the longest sample took.
func (l *load) times() (shortest, longest time.Duration) {
	by := func(a, b sample) int { return int(a.elapsed - b.elapsed) }
	return slices.MinFunc(l.samples, by).elapsed, slices.MaxFunc(l.samples, by).elapsed
}

// Users that overlap have read the same value, so one increment of each round is left.
func TestUnlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := loadOnMemlock(t.Context(), t, false, "-users", "7", "-loops", "3", "-ramp-up", "0", "-think", "10ms", "-hold", "5ms")
		l.wantIncrements(t, 21, 3)
		if shortest, longest := l.times(); shortest != 5*time.Millisecond || longest != 5*time.Millisecond {
			t.Errorf("samples took %v to %v, want 5ms: think time is not in them", shortest, longest)
		}
	})
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ok, failed        int
		counted           int64
		locked            bool
		counters, verdict string
	}{
		{2000, 0, 2000, true, "x: 2,000 of 2,000 increments", "<nil>"},
		{2000, 0, 1000, true, "x: 1,000 of 2,000 increments, 1,000 lost", "x: 1000 increments lost in spite of the lock"},
		{2000, 0, 1, false, "x: 1 of 2,000 increments, 1,999 lost", "<nil>"},
		{9, 1, 9, true, "x: 9 of 9 increments; 1 of 10 samples failed, the first with: oh no", "<nil>"},
		{0, 3, 0, true, "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no", "x: all samples failed, the first with: oh no"},
		{0, 3, 0, false, "x: 0 of 0 increments; 3 of 3 samples failed, the first with: oh no", "x: all samples failed, the first with: oh no"},
		{9, 1, 10, true, "x: 10 of 9 increments, 1 more than were confirmed; 1 of 10 samples failed, the first with: oh no", "<nil>"},
		{0, 0, 0, true, "x: 0 of 0 increments", "<nil>"},
	} {
		l := &load{label: "x", locked: test.locked, counted: test.counted, samples: make([]sample, test.ok+test.failed)}
		for i := range test.failed {
			l.samples[test.ok+i].err = errors.New([]string{"oh no", "later"}[min(i, 1)])
		}
		if got := l.counters(); got != test.counters {
			t.Errorf("counters: %q, want %q", got, test.counters)
		}
		if got := fmt.Sprint(l.verdict()); got != test.verdict {
			t.Errorf("verdict: %q, want %q", got, test.verdict)
		}
	}
}
