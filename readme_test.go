package distlock_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every line of Go in the README, and in the page on weaving, stands in an example
// too, which compiles and runs.
func TestPagesAreInTheExamples(t *testing.T) {
	t.Parallel()
	for page, examples := range map[string][]string{
		"README.md":       {"example*_test.go", "backend/redislock/example_test.go", "example_annotation/service.go"},
		"docs/weaving.md": {"weave/example/*.go"},
	} {
		known := map[string]bool{}
		for _, pattern := range examples {
			names, err := filepath.Glob(pattern)
			if err != nil || len(names) == 0 {
				t.Fatalf("%s: %q, %v", pattern, names, err)
			}
			for _, name := range names {
				for line := range strings.Lines(read(t, name)) {
					known[code(line)] = true
				}
			}
		}
		_, rest, found := strings.Cut(read(t, page), "```go\n")
		if !found {
			t.Errorf("%s has no Go in it", page)
		}
		for found {
			var block string
			block, rest, _ = strings.Cut(rest, "```")
			for line := range strings.Lines(block) {
				if !known[code(line)] {
					t.Errorf("%s: in no example: %s", page, line)
				}
			}
			_, rest, found = strings.Cut(rest, "```go\n")
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// code is a line without its comment, unless that is a directive; what an example
// needs to run without Redis or a caller is as the page has it.
func code(line string) string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "//go:") && !strings.HasPrefix(line, "//distlock:") {
		line, _, _ = strings.Cut(line, "//")
	}
	return strings.TrimSpace(strings.ReplaceAll(line, "context.Background()", "ctx"))
}
