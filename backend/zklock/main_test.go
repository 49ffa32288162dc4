package zklock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	testmode.AtATime(3)
	goleak.VerifyTestMain(child.Main{Tests: m})
}
