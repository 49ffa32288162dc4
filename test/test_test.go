// Package test has only tests: what a Locker does, seen from outside, where several files
// of the root package take part in it.
package test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// handOverTime is the default of Config.HandOverTime.
const handOverTime = 100 * time.Millisecond

// What the package tests share with those of the root package is in testkit.
var (
	bubble         = testkit.Bubble
	extending      = testkit.WithoutWaiters
	heldFor        = testkit.HeldFor
	inBackground   = testkit.InBackground
	keyOf          = testkit.KeyOf
	line           = testkit.Line
	mustBeFree     = testkit.MustBeFree
	inVain         = testkit.InVain
	mustAcquireAll = testkit.MustAcquireAll
	mustGet        = testkit.MustGet
	mustWait       = testkit.MustWait
	other          = testkit.Other
	wantCalls      = testkit.WantCalls
	wantInOrder    = testkit.WantInOrder
	wantIs         = testkit.WantIs
	wantLine       = testkit.WantLine
	wantPanic      = testkit.WantPanic
	wantTook       = testkit.WantTook
)

// The options of a reader, of a writer, and of a holder of one of three permits.
var (
	reading = distlock.Opts{Mode: distlock.Shared}
	writing = distlock.Opts{}
	permit  = distlock.Opts{Permits: 3}
)

type leavingCtx = testkit.LeavingCtx

type ctxKey struct{}

type order struct {
	ID  int64
	SKU string
	Qty int
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
