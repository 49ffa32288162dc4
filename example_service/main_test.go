package main

import (
	"context"
	"log"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testkit"
)

// What the test binary runs instead of tests: the command, or with this value of roleEnv
// an order that is not checked.
const (
	commandRole   = "command"
	uncheckedRole = "late order without its token"
)

func TestMain(m *testing.M) {
	testkit.BeChild(map[string]func(*testkit.Child) error{commandRole: func(*testkit.Child) error { main(); return nil }})
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
