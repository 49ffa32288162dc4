package luascript

import (
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

var includeLine = regexp.MustCompile(`^--- @include "([^"]+)"$`)

// compose returns the text of the script in the file name.
func compose(fsys fs.FS, name string, constants Constants) (string, error) {
	c := composer{fsys: fsys, begun: map[string]bool{}}
	err := c.add(name)
	return define(c.text.String(), constants), err
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
	for line := range strings.Lines(string(file)) {
		line = strings.Trim(line, " \t\r\n")
		if include := includeLine.FindStringSubmatch(line); include != nil {
			if err := c.add(path.Join(path.Dir(name), include[1])); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		} else if line == constantsLine || line != "" && !strings.HasPrefix(line, "--") {
			c.text.WriteString(line + "\n")
		}
	}
	return nil
}

// define replaces the line of the constants by the constants that the text uses.
func define(text string, constants Constants) string {
	above, below, _ := strings.Cut(text, constantsLine+"\n")
	var locals strings.Builder
	for _, name := range slices.Sorted(maps.Keys(constants)) {
		if regexp.MustCompile(`\b` + name + `\b`).MatchString(below) {
			fmt.Fprintf(&locals, "local %s = %#v\n", name, constants[name])
		}
	}
	return above + locals.String() + below
}
