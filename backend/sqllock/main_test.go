package sqllock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	testmode.AtATime(4)
	goleak.VerifyTestMain(sqltest.Main(m))
}
