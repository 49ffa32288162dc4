//go:build unix

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal of this process. If it is nil, give and take do
// nothing.
type terminal struct{ file *os.File }

// openTerminal returns nil without a controlling terminal, as under cron. The file
// stays open until the process ends.
func openTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	// Without this, a background process that sets the foreground group is stopped. The
	// command has been started, and does not inherit the setting.
	signal.Ignore(unix.SIGTTOU)
	return &terminal{f}
}

// foreground returns the process group in the foreground; 0 if it is unknown.
func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// give moves group to the foreground if this process's group is there.
func (t *terminal) give(group int) { t.pass(ownPgrp(), group) }

// take moves this process's group to the foreground if group is there, and reports
// whether it was.
func (t *terminal) take(group int) bool { return t.pass(group, ownPgrp()) }

func (t *terminal) pass(from, to int) bool {
	if t == nil || t.foreground() != from {
		return false
	}
	return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, to) == nil
}

// ownPgrp returns the process group of this process.
func ownPgrp() int {
	group, _ := unix.Getpgid(0) // it cannot fail for the calling process
	return group
}
