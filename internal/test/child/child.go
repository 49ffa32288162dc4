// Package child starts child processes that end with this process, and can stop them with
// SIGSTOP. [Server] is the child process of each real server; redistest, zktest, etcdtest
// and sqltest know how the products are started and asked. Only tests, benchmarks and
// demonstrations use it.
//
// What happens to a whole process of any product belongs here: it is stopped, killed, started
// again, or has another clock ([Clock]). A fault that one product can have, such as a server
// that refuses to write, belongs to the package that starts the product, and a fault of the
// network to package spoilnet.
package child

import (
	"bytes"
	"os/exec"
	"runtime"
	"sync"
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

// Output collects what processes write, while others read it.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
