package main

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// shownTop is distlock top in a terminal of its own.
type shownTop struct {
	*machine
	*exec.Cmd
	keyboard *os.File
	tty      *os.File
	before   unix.Termios
	shown    child.Output
	done     chan bool // is closed when all output was read
}

// startTop starts distlock top in a terminal with this many columns.
func (m *machine) startTop(columns uint16, args ...string) *shownTop {
	m.Helper()
	fail := func(err error) {
		m.Helper()
		if err != nil {
			m.Fatal(err)
		}
	}
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	fail(err)
	m.Cleanup(func() { _ = keyboard.Close() })
	fail(unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	fail(err)
	fail(unix.IoctlSetWinsize(int(keyboard.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 10, Col: columns}))
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	fail(err)
	m.Cleanup(func() { _ = tty.Close() })
	before, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	fail(err)

	s := &shownTop{machine: m, keyboard: keyboard, tty: tty, before: *before, done: make(chan bool)}
	s.Cmd = exec.Command("distlock", append([]string{"top", "-backend", "redis://" + m.server.Addr(), "-interval", "100ms"}, args...)...)
	s.Stdin, s.Stdout, s.Stderr = tty, tty, tty
	s.Env = append(os.Environ(), raceExit)
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	fail(s.Start())
	m.Cleanup(func() { _ = s.Process.Kill() })
	go func() {
		_, _ = io.Copy(&s.shown, keyboard) // until nothing has the terminal
		close(s.done)
	}()
	return s
}

// shows waits until the screen has the text, and returns the screen.
func (s *shownTop) shows(text string) string {
	s.Helper()
	frame := func() string {
		all := s.shown.String()
		return all[max(0, strings.LastIndex(all, toStart)):]
	}
	testkit.Eventually(s.T, text+" is shown", func() bool { return strings.Contains(frame(), text) })
	return frame()
}

// press presses a key.
func (s *shownTop) press(key string) {
	s.Helper()
	if _, err := s.keyboard.WriteString(key); err != nil {
		s.Fatal(err)
	}
}

// ended checks the exit code, and that the terminal is as it was.
func (s *shownTop) ended(code int) {
	s.Helper()
	_ = s.Wait() // the exit code is checked
	if got := s.ProcessState.ExitCode(); got != code {
		s.Errorf("exit code %d, want %d: %s", got, code, s.shown.String())
	}
	after, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		s.Fatal(err)
	}
	if *after != s.before {
		s.Errorf("the terminal has %+v, and had %+v", *after, s.before)
	}
	_ = s.tty.Close()
	<-s.done
	if all := s.shown.String(); !strings.HasPrefix(all, enterScreen) || !strings.HasSuffix(all, leaveScreen) {
		s.Errorf("shown: %q", all)
	}
}

// TestTop shows the locks of two processes, while the store answers and while it does not.
func TestTop(t *testing.T) {
	m := newMachine(t)
	const script = `echo >"$DISTLOCK_KEY"; until test -e stop; do sleep 0.02; done`
	holder := m.start("-key", "deploy", "-lease", "1m", "--", "sh", "-c", script)
	m.has("deploy")
	top := m.startTop(80, "-prefix", "dep")
	top.shows("keys: 1, holders: 1, waiting: 0 (q ends)")
	waiter := m.start("-key", "deploy", "--", "true")
	other := m.start("-key", "other", "--", "sh", "-c", script)
	top.shows("keys: 1, holders: 1, waiting: 1")
	for _, column := range []string{reverse + "KEY ", "deploy", "exclusive", "/" + strconv.Itoa(holder.Cmd.Process.Pid)} {
		top.shows(column)
	}

	m.server.Stop()
	top.shows("the store has not answered since ")
	top.press("x") // no meaning
	m.server.Cont()
	top.shows("keys: 1, holders: 1, waiting: 1")

	narrow := m.startTop(20)
	m.has("other")
	for line := range strings.SplitSeq(narrow.shows("deploy"), "\r\n") {
		for _, sequence := range []string{toStart, restOfLine, restOfPage, reverse, normal} {
			line = strings.ReplaceAll(line, sequence, "")
		}
		if utf8.RuneCountInString(line) > 20 {
			t.Errorf("too long for 20 columns: %q", line)
		}
	}
	narrow.press("\x03")
	narrow.ended(0)

	m.touch("stop")
	m.ends(holder, 0)
	m.ends(waiter, 0)
	m.ends(other, 0)
	top.shows("keys: 0, holders: 0, waiting: 0")
	top.press("q")
	top.ended(0)
}

// TestTopEndsWhileTheStoreHangs presses q, and sends a signal.
func TestTopEndsWhileTheStoreHangs(t *testing.T) {
	m := newMachine(t)
	first, second := m.startTop(80), m.startTop(80)
	first.shows("keys: 0")
	second.shows("keys: 0")
	m.server.Stop()
	defer m.server.Cont()
	first.shows("the store has not answered since ")
	first.press("q")
	first.ended(0)
	if err := second.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	second.ended(exitSignal + int(syscall.SIGTERM))
}
