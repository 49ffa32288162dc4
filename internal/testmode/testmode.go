// Package testmode has the one switch between the quick tests and all of them, and
// the mark of tests that a machine may fail. Only tests use it.
package testmode

import "os"

// LongEnv is the environment variable that, set to 1, has the tests run that are
// left out because they take long: mutants, faults injected into real servers,
// conformance in real time, torture, whatever compiles much.
const LongEnv = "DISTLOCK_TEST_LONG"

// LeftOut is how the message of a test begins that is skipped, although it could run
// with the switch or with a server that is missing.
const LeftOut = "left out: "

// Attribute and RealTime are what a test in real time says of itself by T.Attr.
const (
	Attribute = "time"
	RealTime  = "real"
)

// Test is what is needed of a testing.TB.
type Test interface {
	Helper()
	Skip(args ...any)
	Attr(key, value string)
}

// Full reports whether everything is to run.
func Full() bool { return os.Getenv(LongEnv) == "1" }

// Long skips a test that takes long, unless everything is to run.
func Long(tb Test) {
	tb.Helper()
	if !Full() {
		tb.Skip(LeftOut + "it takes long; " + LongEnv + "=1 runs it, make check-full runs all")
	}
}

// InRealTime marks a test whose outcome hangs on processes and on the clock of the
// machine: it has a second try in the whole check. Starting a server marks the test,
// so few have to say it themselves.
func InRealTime(tb Test) {
	tb.Helper()
	tb.Attr(Attribute, RealTime)
}
