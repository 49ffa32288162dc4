//go:build !unix

package child

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("this system cannot stop a process")

// CanStop reports whether Stop can stop a process.
const CanStop = false

// Stop returns an error.
func Stop(*os.Process) error { return errNoSignals }

// Cont returns an error.
func Cont(*os.Process) error { return errNoSignals }
