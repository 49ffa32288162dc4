// Package testmode says which tests run: those in virtual time always, those in real time
// unless go test has -short, and those that take long only if an environment variable is
// set. Only tests use it.
package testmode

import (
	"flag"
	"os"
	"strconv"
)

// LongEnv is the environment variable that, set to 1, runs the tests that are otherwise
// skipped because they take long: mutants, faults injected into real servers,
// conformance in real time, torture, and tests that compile much.
const LongEnv = "DISTLOCK_TEST_LONG"

// LeftOut is the prefix of the message of a skipped test that could run with a switch, or
// with a server that is missing.
const LeftOut = "left out: "

// Test is the part of testing.TB that this package needs.
type Test interface {
	Helper()
	Skip(args ...any)
}

// Full reports whether the tests that take long run.
func Full() bool { return os.Getenv(LongEnv) == "1" }

// Long skips a test that takes long, unless [LongEnv] is set.
func Long(tb Test) {
	tb.Helper()
	if !Full() {
		tb.Skip(LeftOut + "it takes long; " + LongEnv + "=1 runs it, make lab runs all")
	}
}

// InRealTime skips a test under go test -short because it depends on processes and on the
// clock of the machine, and so can fail on a busy one. What starts a server calls it, so
// few tests do.
func InRealTime(tb Test) {
	tb.Helper()
	if short := flag.Lookup("test.short"); short != nil && short.Value.String() == "true" {
		tb.Skip(LeftOut + "it is in real time, and go test has -short")
	}
}

// AtATime lets n parallel tests of a package run at a time, unless the command line says
// how many. The default is the number of processors, and tests that wait for servers and
// leases hardly need one. TestMain calls it.
func AtATime(n int) { _ = flag.Set("test.parallel", strconv.Itoa(n)) }
