package sqllock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqltest.Main{M: m}) }
