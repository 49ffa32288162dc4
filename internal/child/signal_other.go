//go:build !unix

package child

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("this system cannot stop a process")

// Stop returns an error.
func Stop(*os.Process) error { return errNoSignals }

// Cont returns an error.
func Cont(*os.Process) error { return errNoSignals }
