// Package testmode has the switch between the quick tests and all tests, and the mark
// for tests that can fail on a busy machine. Only tests use it.
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

// LeftOut is the prefix of the message of a skipped test that could run with the switch
// or with a server that is missing.
const LeftOut = "left out: "

// Attribute and RealTime are the key and the value that a test in real time passes to
// T.Attr.
const (
	Attribute = "time"
	RealTime  = "real"
)

// Test is the part of testing.TB that this package needs.
type Test interface {
	Helper()
	Skip(args ...any)
	Attr(key, value string)
}

// Full reports whether all tests run.
func Full() bool { return os.Getenv(LongEnv) == "1" }

// Long skips a test that takes long, unless all tests run.
func Long(tb Test) {
	tb.Helper()
	if !Full() {
		tb.Skip(LeftOut + "it takes long; " + LongEnv + "=1 runs it, make check-full runs all")
	}
}

// InRealTime marks a test that depends on processes and on the clock of the machine.
// Such a test gets a second try in the full check. Starting a server marks the test, so
// few tests call InRealTime themselves.
func InRealTime(tb Test) {
	tb.Helper()
	tb.Attr(Attribute, RealTime)
}

// AtATime lets n parallel tests of a package run at a time, unless the command line says
// how many. The default is the number of processors, and tests that wait for servers and
// leases hardly need one. TestMain calls it.
func AtATime(n int) { _ = flag.Set("test.parallel", strconv.Itoa(n)) }
