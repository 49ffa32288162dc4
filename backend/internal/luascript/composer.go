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

// Constants are the values of a script that Go knows: numbers, and strings without
// special characters.
type Constants map[string]any

const constantsLine = "--- @constants"

var (
	includeLine = regexp.MustCompile(`^--- @include "([^"]+)"$`)
	directive   = regexp.MustCompile(`^--+\s*@`)
	longBracket = regexp.MustCompile(`\[=*\[`)
)

// compose returns the text of the script in the file name.
func compose(fsys fs.FS, name string, constants Constants) (string, error) {
	c := composer{fsys: fsys, begun: map[string]bool{}}
	if err := c.add(name); err != nil {
		return "", err
	}
	text, err := define(c.text.String(), constants)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// composer holds the text of a script while it grows.
type composer struct {
	fsys  fs.FS
	begun map[string]bool // the files that the text has, or will have
	text  strings.Builder
}

// add appends the file, with what it includes, unless the text has it.
func (c *composer) add(name string) error {
	if c.begun[name] {
		return nil
	}
	c.begun[name] = true
	file, err := fs.ReadFile(c.fsys, name)
	if err != nil {
		return err
	}
	number := 0
	for line := range strings.Lines(string(file)) {
		number++
		if err := c.addLine(path.Dir(name), strings.Trim(line, " \t\r\n")); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return nil
}

func (c *composer) addLine(dir, line string) error {
	include := includeLine.FindStringSubmatch(line)
	switch {
	case include != nil:
		return c.add(path.Join(dir, include[1]))
	case line != constantsLine && directive.MatchString(line):
		return fmt.Errorf("%s is neither an include nor the line of the constants", line)
	case longBracket.MatchString(line):
		return errors.New("a long bracket")
	case line == constantsLine, line != "" && !strings.HasPrefix(line, "--"):
		c.text.WriteString(line + "\n")
	}
	return nil
}

// define replaces the line of the constants by the constants that the text uses.
func define(text string, constants Constants) (string, error) {
	above, below, _ := strings.Cut(text, constantsLine+"\n")
	if strings.Contains(below, constantsLine) {
		return "", errors.New("the line of the constants is there twice")
	}
	var locals strings.Builder
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		word := regexp.MustCompile(`\b` + name + `\b`)
		if word.MatchString(above) {
			return "", fmt.Errorf("%s is used, but not below a line %s", name, constantsLine)
		}
		if word.MatchString(below) {
			fmt.Fprintf(&locals, "local %s = %#v\n", name, constants[name])
		}
	}
	return above + locals.String() + below, nil
}
