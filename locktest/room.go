package locktest

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// room is what a lock protects. It notices when two are inside at once, and
// when tokens do not rise in the order of the visits.
//
// Its counter is read and written in two steps, so that an overlap loses a
// visit. The steps are atomic only because the race detector cannot see the
// order that a lock outside the process imposes.
type room struct {
	inside atomic.Int32
	visits atomic.Int64
	token  atomic.Uint64
}

// visit stays for a while under the grant of token; 0 means that there is none.
func (r *room) visit(t testing.TB, token uint64, stay time.Duration) {
	t.Helper()
	if n := r.inside.Add(1); n != 1 {
		t.Errorf("%d are inside at once", n)
	}
	if last := r.token.Swap(token); token != 0 && token <= last {
		t.Errorf("token %d after token %d", token, last)
	}
	n := r.visits.Load()
	if stay > 0 {
		time.Sleep(stay)
	} else {
		runtime.Gosched()
	}
	r.visits.Store(n + 1)
	r.inside.Add(-1)
}

// mustHaveHad checks that no visit was lost.
func (r *room) mustHaveHad(t testing.TB, visits int) {
	t.Helper()
	if n := r.visits.Load(); n != int64(visits) {
		t.Errorf("of %d visits %d were counted", visits, n)
	}
}
