package child

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stop stops a process: its connections stay, and nothing answers. It returns when a
// child of this process has stopped: the signal takes its time on a machine that is
// busy.
func Stop(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < time.Minute && !hasStopped(p); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// hasStopped reports whether a process has stopped, or is no child, or not any more.
func hasStopped(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}
