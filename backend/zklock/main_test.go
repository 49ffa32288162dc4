package zklock_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/internal/test/child"
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

// metric returns a value from the output of the command mntr.
func metric(tb testing.TB, s *zktest.Server, name string) (value int64) {
	tb.Helper()
	child.Await(tb, "mntr tells "+name, func() bool { // the end of an answer can get lost
		answer, _ := s.Ask("mntr")
		_, rest, found := strings.Cut(answer, name+"\t")
		text, _, whole := strings.Cut(rest, "\n")
		v, err := strconv.ParseFloat(text, 64)
		value = int64(v)
		return found && whole && err == nil
	})
	return value
}
