package torture

import "time"

// anchor converts times of this process to the clock that all processes share.
type anchor struct {
	local  time.Time
	shared int64
}

// newAnchor reads both clocks until the two readings are close together. It reads the
// shared clock first, so that a converted time is never too late.
func newAnchor() anchor {
	var a anchor
	for best := int64(1 << 62); best > 0; {
		improved := false
		for range 100 {
			before := now()
			local := time.Now()
			if d := now() - before; d < best {
				best, a, improved = d, anchor{local, before}, true
			}
		}
		if !improved {
			break
		}
	}
	return a
}

func (a anchor) at(t time.Time) int64 { return a.shared + int64(t.Sub(a.local)) }
