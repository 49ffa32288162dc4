// Package test has only tests: what a Locker does, seen from outside, where several files
// of the root package take part in it.
package test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// handOverTime is the default of Config.HandOverTime.
const handOverTime = 100 * time.Millisecond

// What the package tests share with those of the root package is in testkit.
var (
	bubble       = testkit.Bubble
	extending    = testkit.WithoutWaiters
	suspend      = testkit.Suspend
	heldFor      = testkit.HeldFor
	inBackground = testkit.InBackground
	keyOf        = testkit.KeyOf
	line         = testkit.Line
	mustBeFree   = testkit.MustBeFree
	inVain       = testkit.InVain
	mustGet      = testkit.MustGet
	mustWait     = testkit.MustWait
	other        = testkit.Other
	wantCalls    = testkit.WantCalls
	wantInOrder  = testkit.WantInOrder
	wantIs       = testkit.WantIs
	wantLine     = testkit.WantLine
	wantPanic    = testkit.WantPanic
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

// nothingLeft checks that neither the Locker nor the store has data of the key "k": Close
// has nothing to wait for.
func nothingLeft(t *testing.T, l *distlock.Locker, s *testkit.Store) {
	t.Helper()
	synctest.Wait()
	free, begin := s.Free(t, "k"), time.Now()
	wantIs(t, l.Close())
	if took := time.Since(begin); took != 0 || !free {
		t.Errorf("left: Close took %v; free %v", took, free)
	}
}

// paramKeys returns a KeyBuilder for parameters under the name "k".
func paramKeys() *distlock.KeyBuilder {
	return distlock.NewKeyBuilder(distlock.Opts{Value: "k", ParamLock: true})
}

func mustKey(t testing.TB, params any) string {
	t.Helper()
	key, err := paramKeys().Key(params)
	if err != nil {
		t.Fatalf("Key(%#v): %v", params, err)
	}
	return key
}
