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
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WSTOPPED|unix.WNOWAIT|unix.WNOHANG, nil)
		if err != nil || info.Signo != 0 {
			break // it is no child, or not any more; or it has stopped
		}
	}
	return nil
}
