package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the child when the thread that started it ends,
// because a test binary that panics does not run cleanups.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitStop waits until a child has stopped, which can take a while on a busy machine.
func awaitStop(p *os.Process) { Within(Patience, func() bool { return hasStopped(p) }) }

// hasStopped reports whether a process has stopped. It is also true if the process is
// not a child or has ended.
func hasStopped(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}
