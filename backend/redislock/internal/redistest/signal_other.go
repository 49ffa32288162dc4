//go:build !unix

package redistest

import (
	"errors"
	"os"
)

var errNoSignals = errors.New("this system cannot stop a process")

func stop(*os.Process) error { return errNoSignals }
func cont(*os.Process) error { return errNoSignals }
