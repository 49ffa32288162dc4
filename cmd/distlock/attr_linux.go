package main

import "syscall"

// ownGroup puts a process at the head of a group, and ends it with the thread that
// started it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
