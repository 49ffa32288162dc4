package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup starts a process group, and kills the process when the thread that started
// it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of orphaned descendants, so that it can
// wait for them: not every container has an init that does.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // if it fails, init adopts them
}
