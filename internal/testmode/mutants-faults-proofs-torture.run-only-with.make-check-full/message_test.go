package message

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/testmode"
)

// TestMakefile: CI calls make check-full, which turns the switch on.
func TestMakefile(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	for file, want := range map[string]string{
		"Makefile":       `(?m)^check-full:.*\n\t\.ci/check-full$`,
		".ci/run":        `(?m)^exec make .*\bcheck-full$`,
		".ci/check-full": `(?m)^\s*` + testmode.LongEnv + `=1 `,
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s does not match %s", file, want)
		}
	}
	if dir, err := os.Getwd(); err != nil || !strings.HasSuffix(dir, "run-only-with.make-check-full") {
		t.Errorf("the path of this package is %s (%v)", dir, err)
	}
}
