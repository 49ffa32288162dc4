package test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// polls returns when the attempts at a key that another holds begin and end. Attempt n, counted
// from 1, takes as long as slow says.
func polls(t *testing.T, o distlock.Opts, slow func(n int) time.Duration) (begin, end []time.Time) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		defer other(t, s, "k")()
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Try {
				begin = append(begin, time.Now())
				time.Sleep(slow(len(begin)))
				end = append(end, time.Now())
			}
			return nil
		})
		o.KeyTimeout = time.Hour // so that a slow attempt is not cut off
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		if _, err := l.Acquire(ctx, "k", o); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Error(err)
		}
	})
	return begin, end
}

// Slow attempts do not stretch the budget, and the last one is made all the same.
func TestSlowAttemptsDoNotStretchTheBudget(t *testing.T) {
	const interval = 500 * time.Millisecond
	for _, slow := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute} {
		for attempts := 2; attempts < 20; attempts++ {
			begin, _ := polls(t, distlock.Opts{RetryCount: attempts, RetryInterval: interval}, func(int) time.Duration { return slow })
			made := len(begin)
			last := begin[made-1].Sub(begin[0])
			if most := 2 * interval * time.Duration(attempts-1); slow < time.Minute && last > most+slow {
				t.Errorf("attempts of %v: the last of %d began after %v, the budget ends before %v", slow, attempts, last, most)
			}
			if made < 2 || made > attempts {
				t.Errorf("attempts of %v: %d were made, want from 2 to %d", slow, made, attempts)
			}
		}
	}
}

// Pauses differ, and follow each other however slow the attempts are: an attempt that runs
// past the end of its pause shortens the next one.
func TestPausesFollowEachOther(t *testing.T) {
	const interval, rounds = time.Second, 200
	waits, short := map[time.Duration]bool{}, 0
	for range rounds {
		begin, end := polls(t, distlock.Opts{RetryCount: 100, RetryInterval: interval, MaxWait: time.Minute}, func(n int) time.Duration {
			return []time.Duration{0, 0, interval / 2, 5 * interval, 0}[min(n, 4)]
		})
		waits[begin[1].Sub(begin[0])] = true
		if next := begin[2].Sub(begin[1]); next < interval || next >= 2*interval {
			t.Fatalf("an interval of %v after an attempt of half of one", next)
		}
		d := begin[3].Sub(end[2])
		if d == 0 || d >= 2*interval {
			t.Fatalf("a wait of %v after a slow attempt", d)
		}
		if d < interval {
			short++
		}
	}
	if len(waits) < rounds*9/10 || short < rounds/4 { // of a new interval it would be all of it, each time
		t.Errorf("%d different waits, and %d for what was left of an interval, of %d", len(waits), short, rounds)
	}
}

// Without a limit every failure is followed by a pause, however slow it was.
func TestNoLimitPauses(t *testing.T) {
	begin, end := polls(t, distlock.Opts{RetryInterval: time.Second}, func(int) time.Duration { return time.Minute })
	for i := 1; i < len(begin); i++ {
		if d := begin[i].Sub(end[i-1]); d < time.Second {
			t.Errorf("a pause of %v after a slow attempt", d)
		}
	}
	if len(begin) < 20 {
		t.Errorf("%d attempts in half an hour", len(begin))
	}
}
