package distlock_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every line of Go in the README stands in an example too, which compiles and
// runs.
func TestREADMEIsInTheExamples(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	examples := map[string]bool{}
	own, err := filepath.Glob("example*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(own, "backend/redislock/example_test.go") {
		for line := range strings.Lines(read(name)) {
			examples[code(line)] = true
		}
	}
	_, rest, found := strings.Cut(read("README.md"), "```go\n")
	if !found {
		t.Fatal("the README has no Go in it")
	}
	for found {
		var block string
		block, rest, _ = strings.Cut(rest, "```")
		for line := range strings.Lines(block) {
			if !examples[code(line)] {
				t.Errorf("in no example: %s", line)
			}
		}
		_, rest, found = strings.Cut(rest, "```go\n")
	}
}

// code is a line without its comment; what an example needs to run without
// Redis or a caller is as the README has it.
func code(line string) string {
	line, _, _ = strings.Cut(line, "//")
	return strings.TrimSpace(strings.ReplaceAll(line, "context.Background()", "ctx"))
}
