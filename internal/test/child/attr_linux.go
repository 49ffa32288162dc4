package child

import "syscall"

// dieWithParent makes the kernel kill the child when the thread that started it ends,
// because a test binary that panics does not run cleanups.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
