package child

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stop stops a process: its connections stay open, and it does not answer. If the
// process is a child, Stop waits until it has stopped, which can take a while on a busy
// machine.
func Stop(p *os.Process) error {
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for start := time.Now(); time.Since(start) < time.Minute && !hasStopped(p); {
		time.Sleep(time.Millisecond)
	}
	return nil
}

// hasStopped reports whether a process has stopped. It is also true if the process is
// not a child or has ended.
func hasStopped(p *os.Process) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err != nil || info.Signo != 0
}
