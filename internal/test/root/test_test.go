// Package test has only tests: what a Locker does, seen from outside, where several files
// of the root package take part in it.
package test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const (
	handOverTime   = 100 * time.Millisecond // the default of Config.HandOverTime
	releaseTimeout = 2 * time.Second        // of one attempt to release a key
	cleanupTimeout = releaseTimeout / 4     // how long Close waits for clean-up when no lease is held
)

// Helpers of testkit, which the tests of the root package use, too.
var (
	bubble       = testkit.Bubble
	bubbleCase   = testkit.BubbleCase
	bubbleWith   = testkit.BubbleWith
	inBackground = testkit.InBackground
	line         = testkit.Line
	mustBeFree   = testkit.MustBeFree
	mustGet      = testkit.MustGet
	wantCalls    = testkit.WantCalls
	wantIs       = testkit.WantIs
	wantPanic    = testkit.WantPanic
	wantTook     = testkit.WantTook
)

// The options of a reader, of a writer, and of a holder of one of three permits.
var (
	reading = distlock.Opts{Mode: distlock.Shared}
	writing = distlock.Opts{}
	permit  = distlock.Opts{Permits: 3}
)

type ctxKey struct{}

type order struct {
	ID  int64
	SKU string
	Qty int
}

// keyOf returns the key that an error names.
func keyOf(err error) string {
	if e := new(distlock.Error); errors.As(err, &e) {
		return e.Key
	}
	return ""
}

// mustWait checks that a waiter of inBackground still waits.
func mustWait(t *testing.T, got <-chan *distlock.Lease) {
	t.Helper()
	synctest.Wait()
	if len(got) > 0 {
		t.Fatal("was let in")
	}
}

// other holds a key, as another process would, until it is released.
func other(t *testing.T, s *testkit.Store, key string) (release func()) {
	t.Helper()
	r := driver.Request{Key: key, Owner: "Other-" + key, TTL: time.Hour, Tokens: 1}
	if _, err := s.Backend.TryAcquire(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return func() { wantIs(t, s.Backend.Release(context.Background(), r.Grant())) }
}

// nothingLeft checks that the key "k" is free, and that the Locker has nothing.
func nothingLeft(t *testing.T, l *distlock.Locker, s *testkit.Store) {
	t.Helper()
	synctest.Wait()
	mustBeFree(t, s, "k")
	mustCloseAtOnce(t, l)
}

// mustCloseAtOnce checks that the Locker has no lease, and nothing under way.
func mustCloseAtOnce(t *testing.T, l *distlock.Locker) {
	t.Helper()
	begin := time.Now()
	wantIs(t, l.Close())
	if took := time.Since(begin); took != 0 {
		t.Errorf("Close took %v", took)
	}
}

// mustLose gives the key of a lease to another owner, and lets the lease notice.
func mustLose(t *testing.T, s *testkit.Store, lease *distlock.Lease) {
	t.Helper()
	s.Steal(t, lease.Key())
	wantIs(t, lease.Refresh(t.Context()), distlock.ErrLost)
}

// extending returns a view of s that extends grants. It does not know its waiters, so a test
// refuses in its place.
func extending(s *testkit.Store) driver.Backend {
	return s.Only(testkit.Queuing | testkit.Extending)
}

// inVain waits for the lock of the key "k" until ctx is cancelled. It returns when the
// wait has begun, and all tells when it has ended.
func inVain(ctx context.Context, t *testing.T, l *distlock.Locker, all *sync.WaitGroup, o distlock.Opts) {
	t.Helper()
	all.Go(func() {
		wantIs(t, testkit.ErrorOf(l.Acquire(ctx, "k", o)), distlock.ErrNotAcquired, context.Canceled)
	})
	synctest.Wait()
}

// mustAcquireAll acquires a set of keys.
func mustAcquireAll(t *testing.T, l *distlock.Locker, ctx context.Context, keys ...string) *testkit.Set { //nolint:revive // t comes first in tests
	t.Helper()
	m, err := testkit.AcquireAll(ctx, l, keys, distlock.Opts{})
	if err != nil {
		t.Fatalf("AcquireAll(%q): %v", keys, err)
	}
	return m
}

// wantLine checks the text of err.
func wantLine(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// wantInOrder checks that err matches all of want, and lists them in this order.
func wantInOrder(t *testing.T, err error, want []error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("error %v, want none", err)
	}
	from := 0
	for _, e := range want {
		if !errors.Is(err, e) {
			t.Errorf("%v does not match %v", err, e)
			return
		}
		at := strings.Index(err.Error()[from:], e.Error())
		if at < 0 {
			t.Errorf("%v says %v too early", err, e)
			return
		}
		from += at
	}
}

// leavingCtx calls inTheMoment when a caller has seen that the context has ended and
// reads its error.
type leavingCtx struct {
	context.Context
	inTheMoment func()
}

// Err returns the error of the context.
func (c *leavingCtx) Err() error {
	if f := c.inTheMoment; f != nil {
		c.inTheMoment = nil
		f()
	}
	return c.Context.Err()
}

// wantFreeAfter waits for the key as another process does, and checks how long after start it
// comes free, to the millisecond: stores count those.
func wantFreeAfter(t *testing.T, s *testkit.Store, key string, start time.Time, want time.Duration) {
	t.Helper()
	r := driver.Request{Key: key, Owner: "next", TTL: time.Hour, Tokens: 1}
	if _, err := testkit.Await(context.Background(), s.Memory(), r, testkit.Looks{}); err != nil {
		t.Fatalf("waiting for the key: %v", err)
	}
	if d := time.Since(start).Truncate(time.Millisecond); d != want {
		t.Errorf("the key came free after %v, want %v", d, want)
	}
	wantIs(t, s.Backend.Release(context.Background(), r.Grant()))
}
