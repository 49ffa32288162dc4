package spec

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// locks is the store of a history.
type locks interface {
	testkit.Queue
	driver.Inspector
}

// opened has the stores that follow the histories.
var opened = map[string]func() locks{
	"memlock": func() locks { return memlock.New() },
	"caslock": func() locks { return caslock.New(new(rows), caslock.Config{}).(locks) },
}

// rows is a store with a compare-and-swap. The version of a value is the value.
type rows struct{ cells sync.Map }

// Load implements [caslock.Store].
func (r *rows) Load(_ context.Context, key string) ([]byte, string, error) {
	v, _ := r.cells.LoadOrStore(key, "")
	return []byte(v.(string)), v.(string), nil
}

// Swap implements [caslock.Store].
func (r *rows) Swap(_ context.Context, key, version string, value []byte) (string, error) {
	r.cells.LoadOrStore(key, "")
	if !r.cells.CompareAndSwap(key, version, string(value)) {
		return "", caslock.ErrChanged
	}
	return string(value), nil
}

// store is the machine of the store of one history.
type store struct {
	*machine
	open  func() locks
	mem   locks
	until context.Context // of the waits in the queue
	stop  context.CancelFunc

	mu      sync.Mutex
	granted map[string]driver.Grant       // by messages
	waits   map[string]context.CancelFunc // by owner
}

// boot empties the store.
func (s *store) boot() {
	s.do(func() {
		s.mem, s.granted, s.waits = s.open(), make(map[string]driver.Grant), make(map[string]context.CancelFunc)
		s.until, s.stop = context.WithCancel(s.ctx)
		if c, ok := s.mem.(io.Closer); ok {
			context.AfterFunc(s.ctx, func() { _ = c.Close() })
		}
	})
}

// deliver gives the store a request, and returns its answer.
func (s *store) deliver(c *call) (a answer) {
	s.do(func() {
		s.leave(c.request.Owner + c.grant.Owner)
		switch c.kind {
		case "try":
			if a.grant, a.err = s.mem.TryAcquire(s.until, c.request); a.err != nil {
				r := c.request
				r.TTL = claim
				ctx, end := context.WithCancel(s.until)
				s.waits[r.Owner] = end
				go s.wait(ctx, r)
			}
		case "renew":
			a.err = driver.RenewAll(s.until, s.mem, []driver.Grant{c.grant})[0]
		case "release":
			a.err = s.mem.Release(s.until, c.grant)
		}
	})
	return a
}

// wait takes a place in the queue of the store, which may grant the key by a message.
func (s *store) wait(ctx context.Context, r driver.Request) {
	if g, err := testkit.Await(ctx, s.mem, r, testkit.Looks{}); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.granted[r.Owner] = g
	}
}

// leave ends the wait of an owner that asks again, or no more.
func (s *store) leave(owner string) {
	if end := s.waits[owner]; end != nil {
		end()
	}
}

// state describes the holder, the end of its lease, and the queue.
func (s *store) state(now int) (row string, info driver.KeyInfo) {
	s.do(func() {
		if found, err := s.mem.Inspect(s.ctx, key, 0); err != nil || len(found) > 0 {
			info = found[0]
		}
	})
	row = "free"
	for _, h := range info.Holders {
		row = fmt.Sprintf("%s until %d", h.Owner, now+int(h.ExpiresIn.Milliseconds()))
	}
	for _, q := range info.Waiters {
		row += ", " + q.Owner
	}
	return row, info
}
