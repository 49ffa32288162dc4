//go:build unix

package child

import (
	"os"
	"syscall"
)

// Stop stops a process: its connections stay, and nothing answers.
func Stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// Cont lets a stopped process go on.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
