package main

import (
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/sqltest"
)

// roleEnv makes the test binary run something else than tests.
const roleEnv = "EXAMPLE_SERVICE_ROLE"

// roles are what it can run.
var roles = map[string]func() error{
	"command":         func() error { main(); return nil },
	"checked order":   func() error { return orderLate(true) },
	"unchecked order": func() error { return orderLate(false) },
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleEnv)]; ok {
		if err := role(); err != nil {
			log.Fatal(err)
		}
		return
	}
	goleak.VerifyTestMain(tests{m})
}

// tests are all tests of this package, and the end of their servers.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer sqltest.StopShared()
	return m.M.Run()
}
