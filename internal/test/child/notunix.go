//go:build !unix

package child

import (
	"errors"
	"os"
	"os/exec"
)

// CanStop reports whether Stop can stop a process.
const CanStop = false

// Stop returns an error.
func Stop(*os.Process) error { return errors.ErrUnsupported }

// Cont returns an error.
func Cont(*os.Process) error { return errors.ErrUnsupported }

// Unprivileged does nothing.
func Unprivileged(*exec.Cmd, string, string) error { return nil }

// LockFile returns an error.
func LockFile(string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
