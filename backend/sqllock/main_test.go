package sqllock_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testmode"
)

func TestMain(m *testing.M) {
	testmode.AtATime(3)
	code := m.Run()
	sqltest.StopShared()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
