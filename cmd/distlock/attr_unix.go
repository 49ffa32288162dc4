//go:build unix && !linux

package main

import "syscall"

// ownGroup starts a process group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// adoptOrphans leaves them to the init of the system.
func adoptOrphans() {}
