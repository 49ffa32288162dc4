package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// RealEnv is an environment variable. If it is 1, a test fails instead of being skipped
// when a program is missing.
const RealEnv = "DISTLOCK_TEST_REAL"

// ErrMissing means that something which a test needs is not installed.
var ErrMissing = errors.New("not installed")

// Missing returns an error that matches [ErrMissing]. It says what is needed, such as "needs
// etcd in PATH", and why it is not there.
func Missing(needs string, err error) error { return fmt.Errorf("%s (%w): %w", needs, ErrMissing, err) }

// LookPath returns the path of a program. Its error is from [Missing].
func LookPath(program, needs string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", Missing(needs, err)
	}
	return path, nil
}

// TB is what this package needs of a test.
type TB interface {
	testmode.Test
	Fatal(args ...any)
	Cleanup(f func())
}

// Need handles the error of starting a program for a test, which is a test in real time:
// see [testmode.InRealTime]. If the program is missing, it skips the test, unless [RealEnv]
// forbids that. Any other error fails the test.
func Need(tb TB, err error) {
	tb.Helper()
	switch {
	case err == nil:
		testmode.InRealTime(tb)
	case errors.Is(err, ErrMissing) && os.Getenv(RealEnv) != "1":
		tb.Skip(testmode.LeftOut + err.Error())
	default:
		tb.Fatal(err)
	}
}

// Patience limits the wait for an event on a slow and busy machine.
const Patience = time.Minute

// Await waits until cond is true, and fails the test if it is not after [Patience].
func Await(tb TB, what string, cond func() bool) {
	tb.Helper()
	if !Within(Patience, cond) {
		tb.Fatal("it never came true that", what)
	}
}

// Within waits until cond is true, and returns false if it is not true in time.
func Within(d time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(d)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		<-tick.C
	}
	return true
}
