package clock_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Row 10 (any): the clock that ran further counts. Fails if only the wall clock is
// read.
func TestElapsedBelievesTheClockThatRanFurther(t *testing.T) {
	t.Parallel()
	sent := time.Now()
	if now := testkit.Suspend(sent, time.Hour); now.Sub(sent) != 0 || now.Round(0).Sub(sent.Round(0)) != time.Hour {
		t.Fatal("Suspend does not move the wall clock alone: time.Time has changed inside")
	}
	for name, c := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"both clocks":         {sent.Add(time.Second), time.Second},
		"suspended for 1 h":   {testkit.Suspend(sent.Add(time.Second), time.Hour), time.Hour + time.Second},
		"wall set back 1 h":   {testkit.Suspend(sent.Add(time.Second), -time.Hour), time.Second},
		"no time has passed":  {sent, 0},
		"wall set on by 10 s": {testkit.Suspend(sent.Add(time.Second), 10*time.Second), 11 * time.Second},
	} {
		if got := clock.Elapsed(sent, c.now); got != c.want {
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
		"adjusted":        {testkit.Suspend(last.Add(time.Second), time.Millisecond), false},
		"set back":        {testkit.Suspend(last.Add(time.Second), -time.Hour), false},
		"suspended":       {testkit.Suspend(last.Add(time.Second), time.Minute), true},
		"suspended at it": {testkit.Suspend(last, time.Minute), true},
	} {
		if got := clock.Jumped(last, c.now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestMarginLeavesSomething(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		time.Millisecond:       500 * time.Microsecond,
		4 * time.Millisecond:   2 * time.Millisecond,
		100 * time.Millisecond: 3 * time.Millisecond,
		10 * time.Second:       102 * time.Millisecond,
	} {
		if got := clock.Margin(ttl); got != want {
			t.Errorf("Margin(%v) = %v, want %v", ttl, got, want)
		}
	}
}
