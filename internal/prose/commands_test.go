package prose

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	goTest   = regexp.MustCompile(`\bgo test ([^` + "`" + `|&\n]*-run[ =][^` + "`" + `|&\n]*)`)
	testFunc = regexp.MustCompile(`^func ((?:Test|Fuzz|Example)\w*)\(`)
)

// Each go test -run in a document runs a test. TestNamesInPages checks the pages for
// contributors, in which some tests are the reader's own.
func TestCommandsRunTests(t *testing.T) {
	t.Parallel()
	count := 0
	walk(t, *root, documents, func(name string, lines []line) {
		if slices.ContainsFunc(pages, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
			return
		}
		for _, m := range goTest.FindAllStringSubmatch(lines[0].text, -1) {
			if strings.Contains(m[1], "<") || strings.Contains(m[1], "^$") {
				continue // a test that the reader names, or a benchmark
			}
			count++
			if err := runsTest(*root, m[1]); err != nil {
				t.Errorf("%s: go test %s: %v", name, m[1], err)
			}
		}
	})
	if count == 0 {
		t.Error("there are no commands")
	}
}

// runsTest reports an error unless a package of the command has a test that it runs.
func runsTest(root, arguments string) error {
	words := strings.Fields(strings.ReplaceAll(arguments, "-run=", "-run "))
	var pattern string
	var dirs []string
	for i, word := range words {
		switch {
		case i > 0 && words[i-1] == "-run":
			pattern, _, _ = strings.Cut(strings.Trim(word, "'"), "/")
		case word == "." || strings.HasPrefix(word, "./"):
			dirs = append(dirs, word)
		}
	}
	test, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if found, err := hasTest(root, dir, test); found || err != nil {
			return err
		}
	}
	return fmt.Errorf("there is no test %s in %q", pattern, dirs)
}

// hasTest reports whether there is such a test in a directory, or below it if it ends
// with "/...".
func hasTest(root, dir string, test *regexp.Regexp) (bool, error) {
	dir, below := strings.CutSuffix(dir, "/...")
	dir = filepath.Join(root, dir)
	found := false
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != dir && !below:
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(src) {
			if !bytes.HasPrefix(line, []byte("func ")) {
				continue // which is quick
			}
			if m := testFunc.FindSubmatch(line); m != nil && test.Match(m[1]) {
				found = true
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, err
}

func TestRunsTest(t *testing.T) {
	t.Parallel()
	for arguments, runs := range map[string]bool{
		"-run TestRunsTest ./internal/prose":                  true,
		"-v -run '^TestRuns.*$/sub' ./internal/...":           true,
		"-run=TestRunsTest -count 3 ./internal/api .":         false,
		"-run TestRunsTest .":                                 false,
		"-run TestThatIsNotThere ./internal/prose ./driver .": false,
	} {
		if err := runsTest(filepath.Join("..", ".."), arguments); (err == nil) != runs {
			t.Errorf("go test %s: %v", arguments, err)
		}
	}
}
