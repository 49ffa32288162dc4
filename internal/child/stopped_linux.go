package child

import (
	"os"
	"syscall"
)

// pidOnly is P_PID, which has waitid wait for one process.
const pidOnly = 1

// stopped waits until all threads of a process have stopped. What one of them was
// about to answer it might answer until then.
func stopped(p *os.Process) error {
	for {
		// The report stays: whoever waits for the end of the process is not disturbed.
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, pidOnly, uintptr(p.Pid), 0, syscall.WSTOPPED|syscall.WNOWAIT, 0, 0)
		switch errno {
		case 0, syscall.ECHILD: // it is no child, or has ended
			return nil
		case syscall.EINTR:
		default:
			return os.NewSyscallError("waitid", errno)
		}
	}
}
