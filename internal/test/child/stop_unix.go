//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// Stop stops a process: its connections stay open, and it does not answer.
func Stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
