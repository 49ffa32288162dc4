//go:build unix

package main

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// terminal is the one from which this process is controlled. A nil one can be
// asked, and has nothing to give or take.
type terminal struct{ file *os.File }

// openTerminal returns nil if there is none, as under cron. It is open until the
// process ends.
func openTerminal() *terminal {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	// Who is not in the foreground and gives it to somebody is stopped otherwise.
	// The command has been started, and does not inherit this.
	signal.Ignore(unix.SIGTTOU)
	return &terminal{f}
}

// foreground returns the process group that has the terminal; 0 if nobody can say.
func (t *terminal) foreground() int {
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// give gives the terminal to the group if this process's group has it.
func (t *terminal) give(group int) { t.pass(ownPgrp(), group) }

// take takes it back if the group has it, and returns whether it had.
func (t *terminal) take(group int) bool { return t.pass(group, ownPgrp()) }

func (t *terminal) pass(from, to int) bool {
	if t == nil || t.foreground() != from {
		return false
	}
	return unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, to) == nil
}

// ownPgrp returns the process group of this process.
func ownPgrp() int {
	group, _ := unix.Getpgid(0) // of oneself it cannot fail
	return group
}
