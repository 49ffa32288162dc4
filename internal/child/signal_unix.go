//go:build unix

package child

import (
	"os"
	"syscall"
)

// Stop stops a process: its connections stay, and nothing answers. That is so when
// it returns, if the process is a child of this one.
func Stop(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	return stopped(p)
}

// Cont lets a stopped process go on.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
