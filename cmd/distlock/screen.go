package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// endingKeys end a program that shows a screen: q, Q, and Ctrl-C, which is not a signal
// while each key is read at once.
var endingKeys = []byte{'q', 'Q', 3}

// Escape sequences that all terminals of today know.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // another page, no cursor, no line wrap
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	toStart     = "\x1b[H"
	restOfLine  = "\x1b[K" // is cleared
	restOfPage  = "\x1b[J" // the same
	reverse     = "\x1b[7m"
	normal      = "\x1b[m"
)

// headerLine is the line with the titles of the columns.
const headerLine = 2

// screen is the whole terminal.
type screen struct {
	out     *os.File
	keys    chan byte
	restore func()
}

// openScreen takes the terminal. If the input is not a terminal, there are no keys.
func openScreen(in, out *os.File) (*screen, error) {
	s := &screen{out: out, keys: make(chan byte), restore: func() {}}
	if err := understandEscapes(out); err != nil {
		return nil, err
	}
	if fd := int(in.Fd()); term.IsTerminal(fd) {
		before, err := term.MakeRaw(fd)
		if err != nil {
			return nil, err
		}
		s.restore = func() { _ = term.Restore(fd, before) } // the terminal is gone
		go s.read(in)
	}
	_, _ = out.WriteString(enterScreen) // an error means that the terminal is gone
	return s, nil
}

// read reads keys until the process ends.
func (s *screen) read(in *os.File) {
	key := make([]byte, 1)
	for {
		if _, err := in.Read(key); err != nil {
			return
		}
		s.keys <- key[0]
	}
}

// close gives the terminal back as it was.
func (s *screen) close() {
	_, _ = s.out.WriteString(leaveScreen) // an error means that the terminal is gone
	s.restore()
}

// draw shows the lines for the width of the terminal.
func (s *screen) draw(lines func(width int) []string) {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width < 1 || height < 1 {
		width, height = 80, 24 // a terminal that does not know it
	}
	_, _ = s.out.WriteString(page(lines(width), width, height)) // an error means that the terminal is gone
}

// page returns what draws the lines on a terminal of this size. Lines that are too long
// are cut, and if there are too many, the last says how many.
func page(lines []string, width, height int) string {
	if hidden := len(lines) - height; hidden > 0 {
		lines = append(slices.Clone(lines[:height-1]), fmt.Sprintf("and %d more lines", hidden+1))
	}
	var b strings.Builder
	b.WriteString(toStart)
	for i, line := range lines {
		if i > 0 {
			b.WriteString("\r\n")
		}
		line = cut(line, width)
		if i == headerLine {
			line = reverse + line + normal
		}
		b.WriteString(line + restOfLine)
	}
	b.WriteString(restOfPage)
	return b.String()
}

// cut returns the first characters of a line. It replaces those that would move the
// cursor, which may be part of an error.
func cut(line string, width int) string {
	runes := []rune(line)
	runes = runes[:min(len(runes), width)]
	for i, r := range runes {
		if unicode.IsControl(r) {
			runes[i] = '?'
		}
	}
	return string(runes)
}
