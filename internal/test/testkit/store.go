// Package testkit has what the tests of distlock share: [Store], the double of a backend;
// [Register], the resource that a lock protects; [Process], a test binary that runs once
// more as a child; and helpers. Only tests import it.
//
// Real servers are started by redistest, zktest, etcdtest and sqltest.
package testkit

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// ErrBroken is the usual error of a [Store] that fails.
var ErrBroken = errors.New("broken pipe")

// ErrSilent makes a renewal of which it is the error end without a result and without a reason.
var ErrSilent = errors.New("silent")

// Hook is called in a method of a [Store]. It may block, except in Turn.
type Hook func(ctx context.Context, c *Call) error

// Store is a store that records its calls, and that a test can make fail, hang, lie or lose
// replies. A Store itself has the abilities of a [memlock.Backend]; [Store.Only] chooses
// others. It is safe for concurrent use.
type Store struct {
	// Backend is the store that does the work.
	driver.Backend

	mu            sync.Mutex
	calls         []Call
	before, after Hook
	features      *driver.Features                      // nil: as Backend has
	tokens        *int                                  // of a grant; nil: as many as Backend issues
	watches       map[chan driver.Grant]context.Context // of Turn
}

// NewStore returns a Store in memory.
func NewStore() *Store { return Wrap(memlock.New()) }

// Wrap returns a Store that records what it passes on to b.
func Wrap(b driver.Backend) *Store {
	return &Store{Backend: b, watches: make(map[chan driver.Grant]context.Context)}
}

// Memory returns the store in memory of a Store that [NewStore] has made.
func (s *Store) Memory() *memlock.Backend { return s.Backend.(*memlock.Backend) }

// Before sets the hook that is called before a call is passed on. If it returns an error,
// that is the result, and the call is not passed on. Nil removes it.
func (s *Store) Before(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = h
}

// After sets the hook that is called when a call has been applied without an error. Its
// error replaces the reply; an inspection returns it with what was found. Nil removes it.
func (s *Store) After(h Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = h
}

// Fail makes each later call of ops fail with err; without ops, none fails. It replaces the
// hook of Before.
func (s *Store) Fail(err error, ops ...Op) {
	s.Before(func(_ context.Context, c *Call) error {
		if slices.Contains(ops, c.Op) {
			return err
		}
		return nil
	})
}

// Hang makes each later call of ops wait for the end of its context. A renewal that hangs
// reports nothing. It replaces the hook of Before.
func (s *Store) Hang(ops ...Op) {
	s.Before(func(ctx context.Context, c *Call) error {
		if !slices.Contains(ops, c.Op) {
			return nil
		}
		<-ctx.Done()
		if c.Op == Renew {
			return ErrSilent
		}
		return ctx.Err()
	})
}

// Delay makes each later call of ops take d on its way to the store. It replaces the hook
// of Before.
func (s *Store) Delay(d time.Duration, ops ...Op) {
	s.Before(func(_ context.Context, c *Call) error {
		if slices.Contains(ops, c.Op) {
			time.Sleep(d)
		}
		return nil
	})
}

// LoseReplies makes the next n calls of op fail with ErrBroken after they have been applied.
// It replaces the hook of After.
func (s *Store) LoseReplies(op Op, n int) {
	var mu sync.Mutex
	s.After(func(_ context.Context, c *Call) error {
		mu.Lock()
		defer mu.Unlock()
		if c.Op == op && n > 0 {
			n--
			return ErrBroken
		}
		return nil
	})
}

// SetFeatures replaces the features of the store that does the work. They must be set before
// a Locker is made.
func (s *Store) SetFeatures(f driver.Features) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.features = &f
}

// ShortAtFirst makes the store grant keys to waiters for the time d at first, although the
// lease is longer, as a store does that grants them by a message.
func (s *Store) ShortAtFirst(d time.Duration) {
	var ttl time.Duration
	s.Before(func(_ context.Context, c *Call) error {
		if c.Op == Enqueue && c.Request.Renews {
			ttl, c.Request.TTL = c.Request.TTL, d
		}
		return nil
	})
	s.After(func(_ context.Context, c *Call) error {
		if c.Op == Enqueue && c.Request.Renews {
			g := &c.Grants[0]
			g.Until, g.TTL = g.Sent.Add(d), ttl
		}
		return nil
	})
}

// LimitTokens leaves at most n tokens in each later grant. With 0 there is none, as from a
// store without tokens.
func (s *Store) LimitTokens(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = &n
}

// Calls returns the calls of the given methods so far, of all without ops.
func (s *Store) Calls(ops ...Op) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool {
		return len(ops) > 0 && !slices.Contains(ops, c.Op)
	})
}

// Attempts returns the keys of the attempts so far: of Try and Enqueue.
func (s *Store) Attempts() []string {
	var keys []string
	for _, c := range s.Calls(Try, Enqueue) {
		keys = append(keys, c.Key)
	}
	return keys
}

// Free reports whether a key is free. It is not recorded. Any goroutine may call it.
func (s *Store) Free(tb testing.TB, key string) bool {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	g, err := s.Backend.TryAcquire(ctx, driver.Request{Key: key, Owner: "free?", TTL: time.Second, Tokens: 1})
	if err != nil {
		return false
	}
	if err := s.Backend.Release(ctx, g); err != nil {
		tb.Errorf("releasing %q: %v", key, err)
	}
	return true
}

// Steal gives a key of a store in memory to another owner for an hour, as after an
// operator's DEL. Any goroutine may call it.
func (s *Store) Steal(tb testing.TB, key string) {
	tb.Helper()
	s.Memory().Drop(key)
	r := driver.Request{Key: key, Owner: "thief", TTL: time.Hour, Tokens: 1}
	if _, err := s.Backend.TryAcquire(context.WithoutCancel(tb.Context()), r); err != nil {
		tb.Errorf("stealing %q: %v", key, err)
	}
}

func (s *Store) record(c *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, *c)
}

// enter records a call and calls the hook of Before.
func (s *Store) enter(ctx context.Context, c *Call) error {
	s.record(c)
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	if before != nil {
		return before(ctx, c)
	}
	return nil
}

// leave limits the tokens of new grants, and calls the hook of After, if the call has been
// applied.
func (s *Store) leave(ctx context.Context, c *Call, err error) error {
	s.mu.Lock()
	after, tokens := s.after, s.tokens
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if tokens != nil && slices.Contains([]Op{Try, Enqueue, Extend}, c.Op) {
		c.limitTokens(*tokens)
	}
	if after != nil {
		return after(ctx, c)
	}
	return nil
}
