//go:build unix

package child

import (
	"os"
	"syscall"
)

// Cont lets a stopped process go on.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
