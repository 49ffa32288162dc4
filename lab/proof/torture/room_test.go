package torture

import (
	"slices"

	"github.com/distlock-go/distlock"
)

// shares reports whether others may have the key at the same time.
func (l *lease) shares() bool { return l.way() != alone }

// The ways of having a key.
const (
	alone = iota
	reading
	permitted
	ways // number of ways
)

func (l *lease) way() int {
	switch {
	case l.Mode == distlock.Shared:
		return reading
	case l.Permits > 0:
		return permitted
	default:
		return alone
	}
}

// excludes reports whether the two can never have a key at the same time: readers share
// only with readers, and permits only with permits.
func (l *lease) excludes(o *lease) bool { return l.way() != o.way() || l.way() == alone }

// rivals returns the holders that exclude l.
func (l *lease) rivals(holders []*lease) (rivals []*lease) {
	for _, o := range holders {
		if l.excludes(o) {
			rivals = append(rivals, o)
		}
	}
	if len(rivals) == 0 && l.Permits > 0 && len(holders) >= l.Permits {
		return holders
	}
	return rivals
}

// crowd finds leases that began while other leases excluded them. The span of a lease is
// the time in which it excludes others.
func crowd(leases []*lease, span func(*lease) (from, to int64), report func(l *lease, rivals []*lease)) {
	type holder struct {
		*lease
		to int64
	}
	var open []holder
	inside := make([]*lease, 0, len(leases))
	for _, l := range leases { // in the order in which they begin
		from, to := span(l)
		if to <= from {
			continue
		}
		open = slices.DeleteFunc(open, func(h holder) bool { return h.to <= from })
		inside = inside[:0]
		for _, h := range open {
			inside = append(inside, h.lease)
		}
		if rivals := l.rivals(inside); len(rivals) > 0 {
			report(l, rivals)
		}
		open = append(open, holder{l, to})
	}
}
