package testkit_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.BeChild(map[string]func(*testkit.Child) error{"echo": echo})
	goleak.VerifyTestMain(m)
}

// failures is a test that records how it fails.
type failures struct {
	testing.TB

	what []string
}
