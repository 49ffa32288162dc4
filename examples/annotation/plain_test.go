package shop

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Annotated code differs from plain code only by one comment for each method.
func TestPlain(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/plain/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		plain, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		annotated, err := os.ReadFile(filepath.Base(file))
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		comments := 0
		for line := range strings.Lines(string(annotated)) {
			if strings.HasPrefix(strings.TrimSpace(line), "//distlock:lock ") {
				comments++
				if n := len(kept); strings.TrimSpace(kept[n-1]) == "//" { // gofmt puts it between prose and directive
					kept = kept[:n-1]
				}
				continue
			}
			kept = append(kept, line)
		}
		got, err := format.Source([]byte(strings.Join(kept, "")))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, plain) || comments == 0 {
			t.Errorf("%s: %d comments; without them it is\n%s\nwant\n%s", file, comments, got, plain)
		}
	}
}
