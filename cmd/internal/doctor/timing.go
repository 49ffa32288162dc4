package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lease is the default of Opts.KeyTimeout. It is renewed at a third.
const lease = 10 * time.Second

// times are the durations of repeated requests.
type times struct{ median, p99 time.Duration }

// measureLimit is how long a measurement goes on, if n requests take longer.
const measureLimit = 2 * time.Second

// measure repeats a request up to n times.
func measure(ctx context.Context, n int, request func(context.Context) error) (times, error) {
	var all []time.Duration
	for begin := time.Now(); len(all) < n && (len(all) == 0 || time.Since(begin) < measureLimit); {
		start := time.Now()
		if err := request(ctx); err != nil {
			return times{}, err
		}
		all = append(all, time.Since(start))
	}
	return timesOf(all), nil
}

func timesOf(all []time.Duration) times {
	slices.Sort(all)
	return times{median: all[len(all)/2], p99: all[(len(all)*99+99)/100-1]}
}

func (t times) String() string {
	return fmt.Sprintf("median %v, p99 %v", short(t.median), short(t.p99))
}

// short rounds a duration to three digits or so.
func short(d time.Duration) time.Duration {
	for unit := time.Nanosecond; unit < time.Second; unit *= 10 {
		if d.Abs() < 1000*unit {
			return d.Round(unit)
		}
	}
	return d.Round(time.Second / 10)
}

// roundTrip decides on the time of a request that changes nothing. An operation of the
// backend fails after limit.
func roundTrip(t times, limit time.Duration) Finding {
	seen := fmt.Sprintf("%v, of an operation timeout of %v and a lease of %v", t, limit, lease)
	return slow("round-trip", seen, t, limit, "move the program and the store closer together, or find out what slows the store down")
}

// commitLimit is the default operation timeout of sqllock, zklock and etcdlock.
const commitLimit = 2 * time.Second

// commit decides on the time of a change.
func commit(t times) Finding {
	return slow("commit", fmt.Sprintf("%v for a change, of an operation timeout of %v", t, commitLimit), t, commitLimit, "give the store a faster disk, or a disk of its own")
}

func slow(id, seen string, t times, limit time.Duration, do string) Finding {
	switch {
	case t.p99 >= limit:
		return fault(id, seen, do)
	case t.p99 >= limit/10:
		return warning(id, seen, do)
	default:
		return ok(id, "%s", seen)
	}
}

// wakeUp decides on the time of a message that wakes a waiter.
func wakeUp(t times) Finding {
	if t.median >= 100*time.Millisecond {
		return warning("wake-up", t.String()+" from a release to the next holder", "find out what slows the messages down")
	}
	return ok("wake-up", "%v from a release to the next holder", t)
}

// reading is what a clock showed during a request.
type reading struct {
	sent, received time.Time // by this machine's clock
	shown          time.Time
}

// readClock reads a clock some times. The shortest request tells the most.
func readClock(ctx context.Context, n int, read func(context.Context) (time.Time, error)) (reading, error) {
	var best reading
	for i := range n {
		r := reading{sent: time.Now()}
		var err error
		if r.shown, err = read(ctx); err != nil {
			return r, err
		}
		r.received = time.Now()
		if i == 0 || r.received.Sub(r.sent) < best.received.Sub(best.sent) {
			best = r
		}
	}
	return best, nil
}

// ahead returns how much the store's clock is ahead, and how far that may be wrong.
func (r reading) ahead() (d, uncertain time.Duration) {
	half := r.received.Sub(r.sent) / 2
	return r.shown.Sub(r.sent.Add(half)), half
}

// clock decides on the difference between two clocks.
func clock(r reading) Finding {
	ahead, uncertain := r.ahead()
	least := max(0, ahead.Abs()-uncertain)
	seen := fmt.Sprintf("%v ahead of this machine, ± %v", short(ahead), short(uncertain))
	if ahead < 0 {
		seen = fmt.Sprintf("%v behind this machine, ± %v", short(-ahead), short(uncertain))
	}
	const do = "synchronize the clocks of both machines: chronyc tracking, or timedatectl"
	switch {
	case least < time.Second:
		return ok("clock", "%s", seen)
	case least < lease:
		return note("clock", seen, do)
	default:
		return warning("clock", seen, do)
	}
}
