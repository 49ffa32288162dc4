package distlock_test

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// suspend returns t with only its wall clock moved by d, as after a suspension of the
// machine: the monotonic clock stood still.
func suspend(t time.Time, d time.Duration) time.Time {
	moved := t.Add(d)
	// time.Time is {wall uint64; ext int64; loc *Location}, where ext is the monotonic
	// reading.
	(*struct {
		wall uint64
		ext  int64
	})(unsafe.Pointer(&moved)).ext -= int64(d)
	return moved
}

// Row 10 (any): the clock that ran further counts. Fails if only the wall clock is
// read.
func TestElapsedBelievesTheClockThatRanFurther(t *testing.T) {
	t.Parallel()
	sent := time.Now()
	if now := suspend(sent, time.Hour); now.Sub(sent) != 0 || now.Round(0).Sub(sent.Round(0)) != time.Hour {
		t.Fatal("suspend does not move the wall clock alone: time.Time has changed inside")
	}
	for name, c := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"both clocks":         {sent.Add(time.Second), time.Second},
		"suspended for 1 h":   {suspend(sent.Add(time.Second), time.Hour), time.Hour + time.Second},
		"wall set back 1 h":   {suspend(sent.Add(time.Second), -time.Hour), time.Second},
		"no time has passed":  {sent, 0},
		"wall set on by 10 s": {suspend(sent.Add(time.Second), 10*time.Second), 11 * time.Second},
	} {
		if got := distlock.Elapsed(sent, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestJumpedIsTheWallClockRunningAhead(t *testing.T) {
	t.Parallel()
	last := time.Now()
	for name, c := range map[string]struct {
		now  time.Time
		want bool
	}{
		"time passes":     {last.Add(time.Hour), false},
		"adjusted":        {suspend(last.Add(time.Second), time.Millisecond), false},
		"set back":        {suspend(last.Add(time.Second), -time.Hour), false},
		"suspended":       {suspend(last.Add(time.Second), time.Minute), true},
		"suspended at it": {suspend(last, time.Minute), true},
	} {
		if got := distlock.Jumped(last, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// After a suspension the timers are late: every deadline is checked.
//
// Row 10 (any): a suspended machine ends the leases. Fails if only the monotonic clock
// is read.
func TestSuspendEndsTheLeases(t *testing.T) {
	t.Parallel()
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
	l.Recheck(time.Now())
	wantIs(t, held.Check())
	l.Recheck(suspend(time.Now(), time.Minute))
	wantIs(t, context.Cause(held.Context()), distlock.ErrLost)
	wantIs(t, held.Release(t.Context()), distlock.ErrLost)
}

func TestMarginLeavesSomething(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		time.Millisecond:       500 * time.Microsecond,
		4 * time.Millisecond:   2 * time.Millisecond,
		100 * time.Millisecond: 3 * time.Millisecond,
		10 * time.Second:       102 * time.Millisecond,
	} {
		if got := distlock.Margin(ttl); got != want {
			t.Errorf("Margin(%v) = %v, want %v", ttl, got, want)
		}
	}
}
