//go:build unix

package child

import (
	"os"
	"syscall"
)

// Cont continues a stopped process.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
