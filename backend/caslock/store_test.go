package caslock_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/caslock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// errCut is what a caller gets if the network loses a request or its answer.
var errCut = fmt.Errorf("127.0.0.1:7: connection reset: %w", caslock.ErrNoAnswer)

// server is a store in memory that many processes share. Its version of a value is a digest,
// like an ETag.
type server struct {
	t       *testing.T
	latency time.Duration // of each request
	jitter  time.Duration // added to it, at random
	service time.Duration // for which a request occupies the server: it carries out one after the other
	fault   func(op, key, version string) fault

	mu       sync.Mutex
	before   map[string]func() // what happens before the next request of a kind, once
	cells    map[string][]byte
	versions map[string]bool // that a cell ever had
	tickets  map[string][]ticket
	topics   map[string]map[int]func([]byte)
	requests int
	idle     time.Time // when the server is done with what it has
}

type ticket struct {
	owner string
	value []byte
}

// fault is what becomes of a request.
type fault int

const (
	none   fault = iota
	lost         // the request never arrives
	silent       // it arrives, and the answer does not
	late         // it arrives after the caller has gone
	mute         // it never arrives, and nothing tells the caller
)

func newServer(t *testing.T) *server {
	return &server{
		t:      t,
		before: make(map[string]func()), cells: make(map[string][]byte), versions: make(map[string]bool), tickets: make(map[string][]ticket),
		topics: make(map[string]map[int]func([]byte)),
	}
}

// open returns a backend of a new process. The letters of abilities say what the store can: m
// for messages, t for tickets.
func (s *server) open(abilities string) driver.Backend {
	var store caslock.Store = cells{s}
	switch abilities {
	case "m":
		store = struct {
			cells
			messages
		}{cells{s}, messages{s}}
	case "t":
		store = struct {
			cells
			tickets
		}{cells{s}, tickets{s}}
	case "mt":
		store = struct {
			cells
			messages
			tickets
		}{cells{s}, messages{s}, tickets{s}}
	}
	b := caslock.New(store, caslock.Config{MaxTTL: 24 * time.Hour})
	s.t.Cleanup(func() { _ = b.(io.Closer).Close() })
	return b
}

// opener returns open, for Queue.
func (s *server) opener(abilities string) func() testkit.Queue {
	return func() testkit.Queue { return s.open(abilities).(testkit.Queue) }
}

// do carries out a request.
func (s *server) do(ctx context.Context, op, key, version string, f func()) error {
	s.mu.Lock()
	now := time.Now()
	if s.idle.Before(now) {
		s.idle = now
	}
	s.idle = s.idle.Add(s.service)
	wait := s.idle.Sub(now) + s.latency
	s.mu.Unlock()
	if wait += rand.N(s.jitter + 1); wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.before[op]; first != nil {
		delete(s.before, op)
		s.mu.Unlock()
		first()
		s.mu.Lock()
	}
	s.requests++
	what := none
	if s.fault != nil {
		what = s.fault(op, key, version)
	}
	if what == mute {
		s.mu.Unlock()
		<-ctx.Done()
		s.mu.Lock()
		return ctx.Err()
	}
	if what == late {
		time.AfterFunc(time.Millisecond, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			f()
		})
	}
	if what == none || what == silent {
		f()
	}
	if what != none {
		return fmt.Errorf("%s: %w", op, errCut)
	}
	return nil
}

func (s *server) next(op string, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before[op] = f
}

func (s *server) drop(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.cells, key)
}

type cells struct{ s *server }

func versionOf(value []byte) string {
	if value == nil {
		return ""
	}
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:8])
}

// The results below are no variables of a request, which may come late.

func (c cells) Load(ctx context.Context, key string) (value []byte, version string, err error) {
	var held []byte
	if key == "" {
		return nil, "", errors.New("a key is empty") // as DynamoDB says
	}
	if err := c.s.do(ctx, "load", key, "", func() { held = c.s.cells[key] }); err != nil {
		return nil, "", err
	}
	return held, versionOf(held), nil
}

func (c cells) Swap(ctx context.Context, key, version string, value []byte) (string, error) {
	changed, next := false, versionOf(value)
	err := c.s.do(ctx, "swap", key, version, func() {
		if versionOf(c.s.cells[key]) != version {
			changed = true
			return
		}
		if c.s.versions[key+next] {
			panic("a version of " + key + " has come twice: " + string(value))
		}
		c.s.versions[key+next] = true
		c.s.cells[key] = value
	})
	switch {
	case err != nil:
		return "", err
	case changed:
		return "", fmt.Errorf("412: %w", caslock.ErrChanged)
	default:
		return next, nil
	}
}

func (c cells) List(ctx context.Context, prefix string, each func(string, []byte, string) bool) error {
	var all map[string][]byte
	if err := c.s.do(ctx, "list", prefix, "", func() { all = maps.Clone(c.s.cells) }); err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !each(key, all[key], versionOf(all[key])) { // as a store may that selects nothing
			return nil
		}
	}
	return nil
}

type messages struct{ s *server }

func (m messages) Send(ctx context.Context, topic string, data []byte) {
	_ = m.s.do(ctx, "send", topic, "", func() {
		if m.s.versions[topic+string(data)] { // Kubernetes drops it, too
			return
		}
		m.s.versions[topic+string(data)] = true
		for _, f := range m.s.topics[topic] {
			go f(data)
		}
	})
}

func (m messages) Listen(ctx context.Context, topic string, f func([]byte)) {
	m.s.mu.Lock()
	all := m.s.topics[topic]
	if all == nil {
		all = make(map[int]func([]byte))
		m.s.topics[topic] = all
	}
	id := len(all)
	all[id] = f
	m.s.mu.Unlock()
	f(nil)
	<-ctx.Done()
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	delete(all, id)
}

type tickets struct{ s *server }

func (t tickets) PutTicket(ctx context.Context, key, owner string, value []byte) error {
	return t.s.do(ctx, "put", key, "", func() {
		if t.find(key, owner) < 0 {
			t.s.tickets[key] = append(t.s.tickets[key], ticket{owner, value})
		}
	})
}

func (t tickets) find(key, owner string) int {
	return slices.IndexFunc(t.s.tickets[key], func(t ticket) bool { return t.owner == owner })
}

func (t tickets) RemoveTicket(ctx context.Context, key, owner string) error {
	return t.s.do(ctx, "remove", key, "", func() {
		if i := t.find(key, owner); i >= 0 {
			t.s.tickets[key] = slices.Delete(t.s.tickets[key], i, i+1)
		}
	})
}

func (t tickets) OldestTickets(ctx context.Context, key string, n int) (values [][]byte, err error) {
	err = t.s.do(ctx, "oldest", key, "", func() {
		all := t.s.tickets[key]
		for _, ticket := range all[:min(n, len(all))] {
			values = append(values, ticket.value)
		}
	})
	return values, err
}

// reconnect tells all that listen that messages may have been lost.
func (s *server) reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.topics {
		for _, f := range all {
			go f(nil)
		}
	}
}
