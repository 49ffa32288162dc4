package zklock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// shared is the server of all tests that do not stop or restart it. A JVM takes a
// second to start.
var shared zktest.Shared

func TestMain(m *testing.M) {
	testmode.AtATime(3)
	goleak.VerifyTestMain(child.Main{Tests: m, End: shared.Close})
}
