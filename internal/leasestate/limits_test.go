package leasestate_test

import (
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/leasestate"
)

// measured returns the limits after these measurements.
func measured(trips ...time.Duration) leasestate.Limits {
	r := new(leasestate.RoundTrip)
	for _, d := range trips {
		r.Add(d)
	}
	return leasestate.NewLimits(time.Hour, true, r)
}

// times returns d n times.
func times(n int, d time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = d
	}
	return all
}

func TestNewLimits(t *testing.T) {
	t.Parallel()
	if got := leasestate.NewLimits(-1, true, new(leasestate.RoundTrip)); got != (leasestate.Limits{}) || leasestate.Tokens(-1) != 1 {
		t.Errorf("without hand-overs: %+v and %d tokens, want none and 1", got, leasestate.Tokens(-1))
	}
	if got, want := measured(), (leasestate.Limits{MaxTime: time.Hour, Extend: true}); got != want {
		t.Errorf("before the first measurement: %+v, want %+v", got, want)
	}
	// In 3 ms of 3 µs each there are 1,000 hand-overs.
	if n := leasestate.Tokens(time.Hour); n < 1000 {
		t.Errorf("%d tokens", n)
	}
}

// MinTime is ten times what a change of process takes, which is four of the fastest round
// trips.
func TestMinTimeFollowsTheRoundTrips(t *testing.T) {
	t.Parallel()
	const us, ms = time.Microsecond, time.Millisecond
	for name, c := range map[string]struct {
		trips []time.Duration
		want  time.Duration
	}{
		"too few":             {times(63, ms), 0},
		"enough":              {times(64, ms), 40 * ms},
		"the fastest":         {append(times(64, ms), 100*us), 4 * ms},
		"still the fastest":   {append(append(times(64, ms), 100*us), times(63+63, ms)...), 4 * ms},
		"not for long":        {append(append(times(64, ms), 100*us), times(63+64, ms)...), 40 * ms},
		"a stall at first":    {append(times(1, time.Minute), times(63, ms)...), 40 * ms},
		"a stall":             {append(times(64, ms), times(63, time.Minute)...), 40 * ms},
		"a store that is far": {times(200, 20*ms), 800 * ms},
	} {
		if got := measured(c.trips...).MinTime; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
