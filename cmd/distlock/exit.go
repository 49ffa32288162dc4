package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
)

// Exit codes. Codes from 64 on are as in sysexits.h, which flock(1) uses as well; 126, 127 and
// 128+n are as in a shell.
const (
	exitOK          = 0
	exitConflict    = 1  // the default of -E
	exitNotHeld     = 1  // release: the key had no holder
	exitFaults      = 1  // doctor: there are faults
	exitUsage       = 64 // EX_USAGE
	exitUnavailable = 69 // EX_UNAVAILABLE: the store failed, and the command was not run
	exitLost        = 70 // EX_SOFTWARE: the lock was lost, and the work is in doubt; not 75, EX_TEMPFAIL, which programs repeat
	exitOS          = 71 // EX_OSERR
	exitNotExec     = 126
	exitNotFound    = 127
	exitSignal      = 128
)

// exitError is an error with its own exit code.
type exitError struct {
	code int
	err  error // nil: print nothing
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprint("exit code ", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageErrorf returns the error for a mistake on the command line.
func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode returns the exit code for a non-nil error, and whether to print nothing.
func exitCode(err error) (code int, silent bool) {
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code, e.err == nil
	}
	file, _ := errors.AsType[*fs.PathError](err)
	lock, _ := errors.AsType[*distlock.Error](err)
	switch {
	case file != nil && file.Path == os.Stdout.Name(): // the store did what it was asked
		return exitOS, false
	case errors.Is(err, distlock.ErrLost):
		return exitLost, false
	case lock != nil && lock.Op == "options", errors.Is(err, backendurl.ErrURL), errors.Is(err, distlock.ErrKey), errors.Is(err, errors.ErrUnsupported):
		return exitUsage, false
	default:
		return exitUnavailable, false
	}
}

// number returns the number that a shell adds to 128 if the signal ended a process.
func number(s os.Signal) int {
	n, _ := s.(syscall.Signal)
	return int(n)
}

// oneLine puts the text of an error on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// notify sends signals to c, except ignored ones: a nohup is for the command as well.
func notify(c chan<- os.Signal, signals []os.Signal) {
	for _, s := range signals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
}
