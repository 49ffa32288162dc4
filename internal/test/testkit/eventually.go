package testkit

import (
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Patience limits the wait for an event on a slow and busy machine.
const Patience = child.Patience

// Eventually waits until cond is true, and fails the test if it is not after [Patience].
func Eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	child.Await(tb, what, cond)
}
