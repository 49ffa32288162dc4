package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a process at the head of a group, and ends it with the thread that
// started it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes this process the parent of what loses its own below it, so
// that it can be waited for: not every container has an init that does.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it the init does
}
