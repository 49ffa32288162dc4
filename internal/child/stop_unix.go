//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

// Stop stops a process: its connections stay, and nothing answers.
func Stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }
