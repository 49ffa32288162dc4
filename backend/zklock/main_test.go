package zklock_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// shared is the server of all tests that do not stop or restart it. A JVM takes a
// second to start.
var shared zktest.Shared

func TestMain(m *testing.M) {
	testmode.AtATime(3)
	code := m.Run()
	err := shared.Close()
	if leak := goleak.Find(); err == nil {
		err = leak
	}
	if code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
