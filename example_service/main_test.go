package main

import (
	"context"
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/sqltest"
)

// Other values of roleEnv, with which the test binary runs something else than tests.
const (
	commandRole   = "command"
	uncheckedRole = "late order without its token"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleEnv) {
	case "":
		goleak.VerifyTestMain(tests{m})
	case uncheckedRole:
		if err := lateOrder(context.Background(), os.Args[1:], os.Stdin, os.Stdout, withoutToken); err != nil {
			log.Fatal(err)
		}
	default:
		main()
	}
}

// tests are all tests of this package, and the end of their servers.
type tests struct{ *testing.M }

func (m tests) Run() int {
	defer sqltest.StopShared()
	return m.M.Run()
}
