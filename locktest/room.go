package locktest

import (
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// room is what a lock protects. It fails the test if visits overlap that must not, and if an
// exclusive visit has a token that is not larger than all before.
type room struct {
	mu     sync.Mutex
	inside int
	has    driver.Sharing // of the last visit
	visits int
	token  uint64 // the largest
}

// visit enters the room for a while, with a fencing token or 0.
func (r *room) visit(t testing.TB, s driver.Sharing, token uint64, stay time.Duration) {
	t.Helper()
	r.mu.Lock()
	if !r.has.Admits(r.inside, s) {
		t.Errorf("a visit with %+v beside %d with %+v", s, r.inside, r.has)
	}
	if token != 0 && token <= r.token && s == (driver.Sharing{}) {
		t.Errorf("token %d after token %d", token, r.token)
	}
	r.inside++
	r.has, r.token = s, max(r.token, token)
	r.visits++
	r.mu.Unlock()

	time.Sleep(stay)

	r.mu.Lock()
	r.inside--
	r.mu.Unlock()
}
