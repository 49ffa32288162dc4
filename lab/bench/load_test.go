package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"sync"
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

// Under the lock, holds of the same key follow each other.
func TestKeys(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]time.Duration{
		"1": 60 * time.Millisecond, "2": 30 * time.Millisecond, "6": 10 * time.Millisecond, "100": 10 * time.Millisecond,
	} {
		t.Run(keys, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := loadOnMemlock(t.Context(), t, true, "-users", "6", "-loops", "1", "-ramp-up", "0", "-think", "0", "-hold", "10ms", "-keys", keys)
				l.wantIncrements(t, 6, 6)
				if _, longest := l.times(); longest != want {
					t.Errorf("the longest sample took %v, want %v", longest, want)
				}
			})
		})
	}
}

// A sample that an interrupt ends does not count; one that has ended does.
func TestInterruptOfLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		defer interrupt()
		start := time.Now()
		l := loadOnMemlock(ctx, t, true, "-users", "10", "-loops", "5", "-ramp-up", "0", "-think", "0", "-hold", "500ms")
		if took := time.Since(start); took != 1200*time.Millisecond {
			t.Errorf("the load ended after %v, want it to end with the interrupt", took)
		}
		l.wantIncrements(t, 2, 2)
		if failed, _ := l.failed(); failed != 0 {
			t.Errorf("%d errors", failed)
		}
	})
}

func TestRampUpAndThink(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		config config
		want   map[int][]time.Duration
	}{
		"think before each sample": {
			config{users: 4, loops: 2, rampUp: 2 * time.Second, think: 100 * ms},
			map[int][]time.Duration{
				0: {100 * ms, 1200 * ms},
				1: {600 * ms, 1700 * ms},
				2: {1100 * ms, 2200 * ms},
				3: {1600 * ms, 2700 * ms},
			},
		},
		"all at once": {
			config{users: 2, loops: 3},
			map[int][]time.Duration{0: {0, 1000 * ms, 2000 * ms}, 1: {0, 1000 * ms, 2000 * ms}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				at := map[int][]time.Duration{}
				l := &load{config: &test.config}
				l.run(t.Context(), func(user int) error {
					mu.Lock()
					at[user] = append(at[user], time.Since(start))
					mu.Unlock()
					<-time.After(time.Second)
					return nil
				})
				if !reflect.DeepEqual(at, test.want) {
					t.Errorf("samples began at %v, want %v", at, test.want)
				}
			})
		})
	}
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
