package sqllock_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	sqltest.StopShared()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
