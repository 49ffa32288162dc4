//go:build !unix

package child

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("this system cannot stop a process")

// Stop fails.
func Stop(*os.Process) error { return errNoSignals }

// Cont fails.
func Cont(*os.Process) error { return errNoSignals }
