package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
)

// Exit codes. Those from 64 on are of sysexits.h, which flock(1) keeps to as
// well; 126, 127 and 128+n are the shell's.
const (
	exitOK          = 0
	exitConflict    = 1  // the default of -E
	exitNotHeld     = 1  // release: nobody had it
	exitUsage       = 64 // EX_USAGE
	exitUnavailable = 69 // EX_UNAVAILABLE: the store failed, so nothing was run
	exitOS          = 71 // EX_OSERR
	exitLost        = 75 // EX_TEMPFAIL: the lock was lost, and the work is in doubt
	exitNotExec     = 126
	exitNotFound    = 127
	exitSignal      = 128
)

// exitError is an error with an exit code of its own.
type exitError struct {
	code int
	err  error // nil: there is nothing to say
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprint("exit code ", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf makes the error for a mistake on the command line.
func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for an error that is not nil, and whether nothing
// is to be said about it.
func exitCode(err error) (code int, silent bool) {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, e.err == nil
	}
	if e, ok := errors.AsType[*distlock.Error](err); ok && e.Op == "options" {
		return exitUsage, false
	}
	switch {
	case errors.Is(err, backendurl.ErrURL), errors.Is(err, distlock.ErrKey), errors.Is(err, errors.ErrUnsupported):
		return exitUsage, false
	default:
		return exitUnavailable, false
	}
}

// oneLine keeps the promise of one line for errors that come from elsewhere.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
