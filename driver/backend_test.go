package driver_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/locktest"
)

// server is the server of the example, in this process.
type server struct {
	mu       sync.Mutex
	versions uint64 // of all writes
	cells    map[string]version

	onSwap func() // with which a request is held up between its read and its write
}

type version struct {
	cell
	n uint64
}

func newServer() *server { return &server{cells: make(map[string]version)} }

func (s *server) Load(ctx context.Context, key string) (cell, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cells[key].cell, s.cells[key].n, ctx.Err()
}

func (s *server) Swap(ctx context.Context, key string, old uint64, v cell) (uint64, error) {
	if hold := s.onSwap; hold != nil {
		s.onSwap = nil
		hold()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if s.cells[key].n != old {
		return 0, errChanged
	}
	s.versions++
	s.cells[key] = version{v, s.versions}
	return s.versions, nil
}

// The example keeps the whole contract.
func TestConformance(t *testing.T) {
	locktest.Run(t, func(*testing.T) driver.Backend { return newCASLock(newServer()) }, locktest.Features{
		Bubble: true, // virtual time: for a store without network connections
		Peer: func(_ *testing.T, first driver.Backend) driver.Backend {
			return newCASLock(first.(*casLock).cells)
		},
		Drop: func(_ *testing.T, b driver.Backend, key string) {
			s := b.(*casLock).cells.(*server)
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.cells, key)
		},
	})
}

// A renewal is held up between its read and its write, until the lease is over and another
// owner has the key: it is lost, and the other keeps the key.
func TestLateWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		first, second := newCASLock(s), newCASLock(s)
		request := func(owner string) driver.Request {
			return driver.Request{Key: "k", Owner: owner, TTL: time.Second, Tokens: 1}
		}
		g, err := first.TryAcquire(t.Context(), request("first"))
		if err != nil {
			t.Fatal(err)
		}
		var next driver.Grant
		s.onSwap = func() {
			if _, err := second.TryAcquire(t.Context(), request("second")); err == nil {
				t.Error("the key has two holders")
			}
			time.Sleep(time.Second)
			if next, err = second.TryAcquire(t.Context(), request("second")); err != nil {
				t.Error(err)
			}
		}
		if r := driver.RenewAll(t.Context(), first, []driver.Grant{g}); !errors.Is(r[0], driver.ErrLost) {
			t.Errorf("the late renewal: %+v, want lost", r[0])
		}
		if r := driver.RenewAll(t.Context(), second, []driver.Grant{next}); r[0] != nil {
			t.Errorf("the renewal of the next holder: %+v", r[0])
		}
	})
}
