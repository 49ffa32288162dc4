package distlock_test

import (
	"testing"
	"testing/synctest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// What the package tests share with those of test is in testkit.
var (
	bubble         = testkit.Bubble
	extending      = testkit.WithoutWaiters
	suspend        = testkit.Suspend
	heldFor        = testkit.HeldFor
	inBackground   = testkit.InBackground
	keyOf          = testkit.KeyOf
	line           = testkit.Line
	mustBeFree     = testkit.MustBeFree
	mustAcquireAll = testkit.MustAcquireAll
	mustGet        = testkit.MustGet
	other          = testkit.Other
	wantCalls      = testkit.WantCalls
	wantInOrder    = testkit.WantInOrder
	wantIs         = testkit.WantIs
	wantPanic      = testkit.WantPanic
)

// The options of a reader, of a writer, and of a holder of one of three permits.
var (
	reading = distlock.Opts{Mode: distlock.Shared}
	writing = distlock.Opts{}
	permit  = distlock.Opts{Permits: 3}
)

// nothingLeft checks that neither the Locker nor the store has data of the key.
func nothingLeft(t *testing.T, l *distlock.Locker, s *testkit.Store) {
	t.Helper()
	synctest.Wait()
	if l.Keys() != 0 || l.Watched() != 0 || !s.Free(t, "k") {
		t.Errorf("left: %d keys, %d watched; free %v", l.Keys(), l.Watched(), s.Free(t, "k"))
	}
	if n, leases := l.UnderWay(); n != 0 || leases != 0 {
		t.Errorf("left: %d under way, %d leases to cancel", n, leases)
	}
}

type leavingCtx = testkit.LeavingCtx
