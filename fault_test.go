package distlock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

var errBroken = errors.New("broken pipe")

// errMute makes a renewal end without a result and without a reason.
var errMute = errors.New("mute")

// call is one call of a backend's method.
type call struct {
	op    string // "try", "all", "wait", "renew" or "release"
	key   string
	owner string
	at    time.Time
}

// store is a memlock that records its calls and can be made to fail. The zero value of
// each field has no effect.
type store struct {
	*memlock.Backend

	joint bool // can acquire several keys in one step

	mu    sync.Mutex
	calls []call

	// before is called first. If it returns an error, that is the result and the call
	// is not applied.
	before func(c call) error
	// after is called when the call was applied. Its error replaces the reply.
	after func(c call) error
}

func newStore() *store { return &store{Backend: memlock.New()} }

func (s *store) note(op, key, owner string) (call, error) {
	c := call{op, key, owner, time.Now()}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	before := s.before
	s.mu.Unlock()
	if before != nil {
		return c, before(c)
	}
	return c, nil
}

func (s *store) reply(c call, err error) error {
	s.mu.Lock()
	after := s.after
	s.mu.Unlock()
	if err == nil && after != nil {
		return after(c)
	}
	return err
}

func (s *store) TryAcquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c, err := s.note("try", r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := s.Backend.TryAcquire(ctx, r)
	return g, s.reply(c, err)
}

func (s *store) TryAcquireAll(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
	if !s.joint {
		return nil, errors.ErrUnsupported
	}
	c, err := s.note("all", rs[0].Key, rs[0].Owner)
	if err != nil {
		return nil, err
	}
	grants, err := s.Backend.TryAcquireAll(ctx, rs)
	if err := s.reply(c, err); err != nil {
		return nil, err
	}
	return grants, nil
}

func (s *store) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c, err := s.note("wait", r.Key, r.Owner)
	if err != nil {
		return driver.Grant{}, err
	}
	g, err := s.Backend.Acquire(ctx, r)
	return g, s.reply(c, err)
}

func (s *store) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	c, err := s.note("renew", grants[0].Key, grants[0].Owner)
	if err == nil {
		results := driver.RenewAll(ctx, s.Backend, grants)
		if err = s.reply(c, nil); err == nil {
			for i, r := range results {
				report(i, r)
			}
			return
		}
	}
	for i := range grants {
		switch {
		case errors.Is(err, errMute):
		case errors.Is(err, distlock.ErrForeign):
			report(i, driver.RenewResult{Status: driver.Lost, Err: err})
		default:
			report(i, driver.RenewResult{Err: err})
		}
	}
}

func (s *store) Release(ctx context.Context, g driver.Grant) error {
	c, err := s.note("release", g.Key, g.Owner)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.reply(c, s.Backend.Release(ctx, g))
}

// seen returns the calls of op so far.
func (s *store) seen(op string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.calls), func(c call) bool { return c.op != op })
}

// fail makes every later call of the given operations fail; without operations all work
// again.
func (s *store) fail(ops ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func(c call) error {
		if slices.Contains(ops, c.op) {
			return errBroken
		}
		return nil
	}
}

// loseReplies drops the replies of the next n calls of op.
func (s *store) loseReplies(op string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = func(c call) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.op == op && n > 0 {
			n--
			return errBroken
		}
		return nil
	}
}

// free reports whether the key is free in the store.
func (s *store) free(t *testing.T, key string) bool {
	t.Helper()
	probe := driver.Request{Key: key, Owner: "probe", TTL: time.Second, Tokens: 1}
	_, err := s.Backend.TryAcquire(context.Background(), probe)
	if err != nil {
		return false
	}
	if err := s.Backend.Release(context.Background(), probe.Grant()); err != nil {
		t.Fatalf("releasing the probe: %v", err)
	}
	return true
}

// polling hides the Queuer of a store, so that the Locker has to poll.
type polling struct{ driver.Backend }

// bubble runs f in virtual time with a Locker over a store, and closes the Locker at
// the end.
func bubble(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		l := distlock.New(s, distlock.Config{})
		defer closeLocker(t, l)
		f(t, l, s)
	})
}

func closeLocker(t *testing.T, l *distlock.Locker) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func mustAcquire(t *testing.T, l *distlock.Locker, key string, o distlock.Opts) *distlock.Lease {
	t.Helper()
	s, err := l.Acquire(t.Context(), key, o)
	if err != nil {
		t.Fatalf("Acquire(%q): %v", key, err)
	}
	return s
}

// wantIs checks that err matches exactly the given errors of the package.
func wantIs(t *testing.T, err error, want ...error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("error %v, want none", err)
	}
	for _, e := range []error{
		distlock.ErrNotAcquired, distlock.ErrForeign, distlock.ErrLost, distlock.ErrKey, distlock.ErrQueueFull,
		distlock.ErrUnavailable, distlock.ErrClosed, distlock.ErrNoFencing, distlock.ErrUpgrade,
		context.Canceled, context.DeadlineExceeded, errBroken,
	} {
		if got := errors.Is(err, e); got != slices.Contains(want, e) {
			t.Errorf("errors.Is(%v, %v) = %v", err, e, got)
		}
	}
}
