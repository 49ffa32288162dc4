//go:build unix

package child

import (
	"os"
	"syscall"
)

// CanStop reports whether Stop can stop a process.
const CanStop = true

// Cont continues a stopped process.
func Cont(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
