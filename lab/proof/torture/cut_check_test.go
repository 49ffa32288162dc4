package torture

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomTale lets some processes take a key in turn, on a correct lock: some leases
// expire, some releases are lost, some holders write too late, some keep the key, some share
// it, and some hand it over. If lie is true, it then changes one detail.
func randomTale(rng *rand.Rand, leases int, lie bool) *tale {
	s := newTale()
	free, opened := int64(0), int64(0) // when the last holders left, and since when the key can be shared with them
	token, largest := uint64(1), uint64(0)
	var inside, stale []*lease
	var last *lease // if it may hand over
	left := int64(0)
	for range leases {
		token += 1 + rng.Uint64N(3)
		l := s.held([]string{"0.0", "1.0", "2.0"}[rng.IntN(3)], token, 0, 0, 0)
		switch rng.IntN(4) {
		case 0:
			l.shared()
		case 1:
			l.permit(2)
		}
		if last != nil && rng.IntN(2) == 0 {
			l.Proc, l.Mode, l.Permits = last.Proc, last.Mode, last.Permits
			l.handedBy(last)
		} else {
			left = 0
		}
		last = nil
		if len(l.rivals(inside)) > 0 || len(inside) == 0 {
			inside, opened = nil, free
		}
		inside = append(inside, l)
		granted := max(opened, left) + 1 + rng.Int64N(3)
		opened = granted
		heard := granted + rng.Int64N(4)
		l.Sent, l.Until = (granted-rng.Int64N(40))*ms, (granted+20)*ms
		l.Acquire.Call, l.Acquire.Return = l.Sent, heard*ms
		user := l
		if len(stale) > 0 && rng.IntN(4) == 0 {
			user = stale[rng.IntN(len(stale))]
		}
		at := max(heard, free) + 1
		o := failed
		if user.Token >= largest {
			if o = ok; !user.shares() {
				largest = user.Token
			}
		}
		user.used(o, at-rng.Int64N(2), at+rng.Int64N(3))
		gone := at + 3
		switch rng.IntN(7) {
		case 0: // the lease expires
			gone = max(gone, granted+20) + rng.Int64N(5)
			stale = append(stale, l)
			if rng.IntN(2) == 0 {
				l.released(failed, gone+rng.Int64N(30), gone+40)
			}
		case 1:
			l.released(unknown, gone, 0)
			gone += rng.Int64N(30)
			stale = append(stale, l)
		case 2: // MinHold keeps the key
			l.keeping(60).released(ok, gone, gone+rng.Int64N(10))
			gone = max(gone, granted+60) + rng.Int64N(5)
		default:
			gone += rng.Int64N(3)
			l.released(ok, gone, gone+rng.Int64N(20))
			last, left = l, gone
		}
		free = max(free, gone) + 1
	}
	if lie {
		l := s.h.Leases[rng.IntN(leases)]
		switch rng.IntN(4) {
		case 0:
			l.Token -= min(l.Token, 1+rng.Uint64N(6))
		case 1:
			shift := (rng.Int64N(40) - 20) * ms
			for _, o := range slices.Concat(l.Uses, []*operation{&l.Acquire, l.Release}) {
				if o != nil {
					o.Call, o.Return = o.Call+shift, o.Return+shift
				}
			}
			l.Sent, l.Until = l.Sent+shift, l.Until+shift
		case 2:
			l.Until += rng.Int64N(40) * ms
			l.Release = nil
		default:
			if len(l.Uses) > 0 {
				w := l.Uses[0]
				if w.Outcome == ok {
					w.Outcome = failed
				} else {
					w.Outcome = ok
				}
			}
		}
	}
	return s
}

// TestCutLosesNothing checks that a history that is cut into pieces gets the same
// verdict as the whole, and that histories of a correct lock are legal.
func TestCutLosesNothing(t *testing.T) {
	legal, pieces := 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		lie := seed%2 == 1
		s := randomTale(rng, 12, lie)
		s.h.findOwners()
		whole, _ := checkModel(s.h, 1<<30)
		parts, n := checkModel(s.h, 1)
		if pieces += n; len(whole) == 0 {
			legal++
		}
		if (len(whole) > 0) != (len(parts) > 0) {
			t.Errorf("seed %d: the whole has %d violations, its %d parts have %d", seed, len(whole), n, len(parts))
		}
		if !lie && len(whole) > 0 {
			t.Errorf("seed %d: a lock that works has violations", seed)
		}
	}
	if legal == 1000 || pieces < 2*1000 {
		t.Errorf("of 1000 histories, in %d pieces, %d are legal: that shows nothing", pieces, legal)
	}
	t.Logf("%d of 1000 legal, %d pieces", legal, pieces)
}

// TestCutAtBusyTimes checks that a history can be cut although there are always
// acquisitions that wait.
func TestCutAtBusyTimes(t *testing.T) {
	s := newTale()
	for i := range int64(2000) {
		s.held("0.0", uint64(i+1), max(0, 10*i-500), 10*i, 10*i+1000).released(ok, 10*i+4, 10*i+6)
	}
	pieces := s.h.cut(0, pieceSize)
	sizes := make([]int, len(pieces))
	for i, p := range pieces {
		sizes[i] = len(p)
	}
	if most := slices.Max(sizes); most > 2*pieceSize {
		t.Errorf("a piece has %d operations", most)
	}
	if found, n := checkModel(s.h, pieceSize); len(found) > 0 {
		t.Errorf("%d of %d pieces are not legal", len(found), n)
	}
}
