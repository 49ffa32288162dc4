package distlock

import "time"

// terms are what two acquisitions of a key must have in common for one to take
// over the other's hold, or to ride on it.
type terms struct {
	ttl     time.Duration
	permits int
	mode    Mode
	fixed   bool // not renewed by the watchdog
	alone   bool // a reader with times of its own, which a hold has but once
}

func (o *Opts) terms() terms {
	return terms{
		ttl: o.KeyTimeout, permits: o.Permits, mode: o.Mode, fixed: o.NoWatchdog,
		alone: o.Mode == Shared && (o.MaxHold > 0 || o.MinHold > 0),
	}
}

// rides reports whether many may ride on one hold.
func (t *terms) rides() bool { return t.mode == Shared && !t.fixed && !t.alone }

// admits reports whether one more with the terms o may come in beside n with
// these.
func (t *terms) admits(n int, o *terms) bool {
	switch {
	case t.permits > 0:
		return n < o.permits
	default:
		return t.mode == Shared && o.mode == Shared
	}
}

// covers reports whether whoever has the key on these terms has all that o asks
// for.
func (t *terms) covers(o *Opts) bool {
	switch {
	case t.permits > 0:
		return t.permits <= o.Permits
	case t.mode == Shared:
		return o.Mode == Shared
	default:
		return true
	}
}
