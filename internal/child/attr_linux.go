package child

import "syscall"

// dieWithParent ends a child with the thread that started it: a test binary that
// panics runs no cleanups.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
