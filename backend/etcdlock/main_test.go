package etcdlock_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

// shared is the server of all tests that do not stop or restart it.
var shared etcdtest.Shared

func TestMain(m *testing.M) {
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
