package placequeue_test

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/backend/internal/placequeue"
	"github.com/distlock-go/distlock/driver"
)

// place is a place with a number.
type place struct {
	number  int
	sharing driver.Sharing
}

func (p place) Sharing() driver.Sharing { return p.sharing }

var kinds = []driver.Sharing{{}, {Mode: driver.Shared}, {Permits: 1}, {Permits: 2}, {Permits: 3}}

// TestQueueFollowsSharing compares the rule for places with driver.Sharing.Admits, for
// all queues of up to five places.
func TestQueueFollowsSharing(t *testing.T) {
	t.Parallel()
	var try func(q []place)
	try = func(q []place) {
		if len(q) > 0 {
			checkLast(t, q)
			checkHolders(t, q)
		}
		for _, s := range kinds {
			if len(q) < 5 && !t.Failed() {
				try(append(slices.Clip(q), place{len(q), s}))
			}
		}
	}
	try(nil)
}

// admits reports whether the last place of a queue may join the others, as
// driver.Sharing defines it, if all of them have the key.
func admits(q []place) bool {
	last := len(q) - 1
	return !slices.ContainsFunc(q[:last], func(p place) bool { return !p.sharing.Admits(last, q[last].sharing) })
}

// checkLast checks what the last place of a queue waits for: it is enough to stop it,
// and no less would be.
func checkLast(t *testing.T, q []place) {
	t.Helper()
	last := len(q) - 1
	blockers := placequeue.Blockers(q, last)
	if admits(q) != (len(blockers) == 0) {
		t.Errorf("the last of %v waits for %v, and Admits says %v", q, blockers, admits(q))
	}
	if len(blockers) > 0 && admits(append(slices.Clone(blockers), q[last])) {
		t.Errorf("the last of %v waits for %v, which admit it", q, blockers)
	}
	for i := range blockers {
		if !admits(append(slices.Delete(slices.Clone(blockers), i, i+1), q[last])) {
			t.Errorf("the last of %v waits for %v, and less is enough to stop it", q, blockers)
		}
	}
}

// checkHolders checks which places have the key: each that may join all in front of it.
func checkHolders(t *testing.T, q []place) {
	t.Helper()
	holders, waiting := placequeue.Split(q)
	for i, p := range q {
		if has := admits(q[:i+1]); slices.Contains(holders, p) != has || slices.Contains(waiting, p) == has {
			t.Errorf("%v: of the places, %v have the key and %v wait", q, holders, waiting)
		}
	}
	for i := range holders {
		if !admits(holders[:i+1]) {
			t.Errorf("%v: %v have the key together", q, holders)
		}
	}
}

// TestTokens: the tokens of a later number are larger than all tokens of an earlier
// one.
func TestTokens(t *testing.T) {
	t.Parallel()
	last := uint64(0)
	for _, number := range []int64{1, 2, 0x100000001, 1<<53 - 1} {
		for _, n := range []int{-1, 1, 64, 1000} {
			a, b := placequeue.Tokens(number, 64, n)
			if a <= last || b < a || b-a >= 64 || n == 64 && b-a != 63 {
				t.Errorf("of %#x, %d tokens: %d to %d; before was %d", number, n, a, b, last)
			}
			if n == 1000 {
				last = b
			}
		}
	}
}
