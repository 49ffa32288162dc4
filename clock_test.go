package distlock_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/distlock-go/distlock"
)

// suspend returns t with only its wall clock moved on by d, as the time is
// after the machine slept: the monotonic clock stood still.
func suspend(t time.Time, d time.Duration) time.Time {
	moved := t.Add(d)
	// time.Time is {wall uint64; ext int64; loc *Location}, ext being the
	// monotonic reading.
	(*struct {
		wall uint64
		ext  int64
	})(unsafe.Pointer(&moved)).ext -= int64(d)
	return moved
}

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
