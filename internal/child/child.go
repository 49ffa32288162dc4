// Package child starts the servers of tests as child processes that end with the
// test binary, and stops them as a debugger does. Only tests use it.
package child

import (
	"os/exec"
	"runtime"
)

// Start starts cmd. The channel is closed when the process has ended. Where the
// system can do that it ends with this one, however this one ends.
func Start(cmd *exec.Cmd) (<-chan struct{}, error) {
	cmd.SysProcAttr = dieWithParent()
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread must outlive the child
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
