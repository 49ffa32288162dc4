package zklock_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	testmode.AtATime(3)
	goleak.VerifyTestMain(child.Main{Tests: m})
}

// failFast ends the tests if this one takes longer than that in real time: in a bubble only what
// spins does. It is called outside.
func failFast(t *testing.T, limit time.Duration) {
	t.Helper()
	spins := time.AfterFunc(limit, func() { panic(t.Name() + " spins") })
	t.Cleanup(func() { spins.Stop() })
}
