package luascript

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const constantsLine = "--- @constants"

var (
	includeLine = regexp.MustCompile(`^--- @include "([^"]+)"$`)
	directive   = regexp.MustCompile(`^--+\s*@`)
	longBracket = regexp.MustCompile(`\[=*\[`)
)

// compose returns the text of the script in the file name.
func compose(fsys fs.FS, name string, constants Constants) (string, error) {
	c := composer{fsys: fsys, open: map[string]bool{}}
	if err := c.add(name); err != nil {
		return "", err
	}
	text, err := define(c.text.String(), constants)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	var short strings.Builder
	for line := range strings.Lines(text) {
		short.WriteString(strings.TrimLeft(line, " \t"))
	}
	return short.String(), nil
}

// composer holds the text of a script while it grows.
type composer struct {
	fsys fs.FS
	open map[string]bool // for each file that was begun: the text does not have all of it
	text strings.Builder
}

// add appends the file, with what it includes, unless the text has it.
func (c *composer) add(name string) error {
	if open, begun := c.open[name]; open {
		return errors.New("the file includes itself")
	} else if begun {
		return nil
	}
	c.open[name] = true
	file, err := fs.ReadFile(c.fsys, name)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(string(file)) {
		number++
		if err := c.addLine(path.Dir(name), strings.TrimRight(line, " \t\r\n")); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	c.open[name] = false
	return nil
}

func (c *composer) addLine(dir, indented string) error {
	line := strings.TrimLeft(indented, " \t")
	include := match(includeLine, line)
	switch {
	case include != nil:
		return c.add(path.Join(dir, include[1]))
	case line != constantsLine && match(directive, line) != nil:
		return fmt.Errorf("%s is neither an include nor the line of the constants", line)
	case strings.Contains(line, "[[") || strings.Contains(line, "[=") && longBracket.MatchString(line):
		return errors.New("a long bracket")
	case line == constantsLine:
		c.text.WriteString(line + "\n")
	case line != "" && !strings.HasPrefix(line, "--"):
		c.text.WriteString(indented + "\n")
	}
	return nil
}

// match returns the match of the expression of a directive. Without a directive, as in most
// lines, it takes no time.
func match(re *regexp.Regexp, line string) []string {
	if !strings.Contains(line, "@") {
		return nil
	}
	return re.FindStringSubmatch(line)
}

// define replaces the line of the constants by those that the text uses.
func define(text string, constants Constants) (string, error) {
	above, below, _ := strings.Cut(text, constantsLine+"\n")
	if strings.Contains(below, constantsLine) {
		return "", errors.New("the line of the constants is there twice")
	}
	var locals strings.Builder
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		if uses(above, name) {
			return "", fmt.Errorf("%s is used, but not below a line %s", name, constantsLine)
		}
		if uses(below, name) {
			fmt.Fprintf(&locals, "local %s = %#v\n", name, constants[name])
		}
	}
	return above + locals.String() + below, nil
}

// uses reports whether the text has the name as a word.
func uses(text, name string) bool {
	for before := byte(' '); ; {
		i := strings.Index(text, name)
		if i < 0 {
			return false
		}
		if i > 0 {
			before = text[i-1]
		}
		text = text[i+len(name):]
		if !inWord(before) && (text == "" || !inWord(text[0])) {
			return true
		}
		before = name[len(name)-1]
	}
}

// inWord reports whether a byte can be in a name.
func inWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}
