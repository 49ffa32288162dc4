package locktest

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// room is what a lock protects. It fails the test if two visits overlap, and if tokens do
// not rise in the order of the visits.
//
// A visit reads and writes the counter in two steps, so an overlap loses a visit. The
// steps are atomic only because the race detector does not know that a lock outside the
// process orders them.
type room struct {
	inside atomic.Int32
	visits atomic.Int64
	token  atomic.Uint64
}

// visit enters the room for a while, with a fencing token or 0.
func (r *room) visit(t testing.TB, token uint64, stay time.Duration) {
	t.Helper()
	if n := r.inside.Add(1); n != 1 {
		t.Errorf("%d visits at once", n)
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
