// Package child starts child processes, such as the servers of tests, that end with this
// process, and can stop them with SIGSTOP. Only tests, benchmarks and demonstrations use
// it.
package child

import (
	"os/exec"
	"runtime"
	"syscall"
)

// Start starts cmd and returns a channel that is closed when the process has ended. On
// Linux the child also ends when this process ends for any reason.
func Start(cmd *exec.Cmd) (<-chan struct{}, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	dieWithParent(cmd.SysProcAttr)
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the child is killed when this thread ends
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
			close(exited)
		}
	}()
	return exited, <-started
}
