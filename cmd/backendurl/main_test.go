package backendurl_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/sqltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(stopServers{m}) }

// stopServers stops the shared servers after the tests.
type stopServers struct{ *testing.M }

func (s stopServers) Run() int {
	defer sqltest.StopShared()
	return s.M.Run()
}
