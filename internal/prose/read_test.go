package prose

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// line is a line of a comment or of a document.
type line struct {
	file string
	n    int
	text string
}

func (l line) String() string { return fmt.Sprintf("%s:%d: %s", l.file, l.n, l.text) }

// read returns lines of the file with that name and content.
type read func(name string, src []byte) []line

// walk calls f with the lines that a reader returns for each file below root. It leaves
// out generated files, directories that begin with a dot except .ci, and files for which
// by has no reader.
func walk(t *testing.T, root string, by func(name string) read, f func(name string, lines []line)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && name != ".ci" && strings.HasPrefix(d.Name(), ".") {
				return fs.SkipDir
			}
			return nil
		}
		read := by(name)
		if read == nil {
			return nil
		}
		src, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if !generated.Match(src) {
			f(name, read(name, src))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// prose is for the comments of a file of code, and for the text of a document.
func prose(name string) read {
	switch path.Ext(name) {
	case ".go":
		return goComments
	case ".lua":
		return commentsAfter("--")
	case ".sh", ".yml":
		return commentsAfter("#")
	case ".md":
		return markdown
	}
	if base := path.Base(name); base == "Makefile" || name == ".ci/run" {
		return commentsAfter("#")
	}
	return nil
}

var (
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	directive = regexp.MustCompile(`^(//[a-z]+:[a-z]|//nolint|// want )`)
)

func goComments(name string, src []byte) []line {
	var lines []line
	files := token.NewFileSet()
	file := files.AddFile(name, -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.COMMENT || directive.MatchString(text) {
			continue
		}
		for i, text := range strings.Split(text, "\n") {
			if text = strings.Trim(text, " \t*/"); text != "" {
				lines = append(lines, line{name, file.Line(pos) + i, text})
			}
		}
	}
}

func commentsAfter(mark string) read {
	comment := regexp.MustCompile(`(?:^|\s)` + mark + `\s+(\S.*)$`)
	return func(name string, src []byte) []line {
		var lines []line
		for i, text := range strings.Split(string(src), "\n") {
			if m := comment.FindStringSubmatch(text); m != nil {
				lines = append(lines, line{name, i + 1, m[1]})
			}
		}
		return lines
	}
}

// everyLine is for whole files of code.
func everyLine(name string) read {
	if ext := path.Ext(name); ext != ".go" && ext != ".lua" || strings.HasPrefix(name, "internal/prose/") {
		return nil
	}
	return func(name string, src []byte) []line {
		var lines []line
		for i, text := range strings.Split(string(src), "\n") {
			lines = append(lines, line{name, i + 1, strings.TrimSpace(text)})
		}
		return lines
	}
}

// markdown returns the lines that are not in a block of code.
func markdown(name string, src []byte) []line {
	var lines []line
	code := false
	for i, text := range bytes.Split(src, []byte("\n")) {
		text := string(bytes.TrimSpace(text))
		if strings.HasPrefix(text, "```") {
			code = !code
		} else if !code && text != "" {
			lines = append(lines, line{name, i + 1, text})
		}
	}
	return lines
}
