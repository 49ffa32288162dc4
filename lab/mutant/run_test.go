package mutant

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// TestMutant checks that the named test of each mutant fails.
func TestMutant(t *testing.T) {
	testmode.Long(t)
	for _, m := range all {
		t.Run(m.Promise+"/"+m.Name, func(t *testing.T) {
			t.Parallel()
			child.Need(t, missing(m.Needs))
			output, err := m.run(t.Context(), t.TempDir())
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s: caught by %s, which says:\n%s", m.Rule, m.Test, said(output))
		})
	}
}

// missing returns an error if a server is not installed.
func missing(server string) (err error) {
	switch server {
	case "":
	case "zookeeper":
		_, _, err = zktest.ServerPath()
	default:
		_, err = child.LookPath(server, "needs "+server+" in PATH")
	}
	return err
}

var remark = regexp.MustCompile(`(?m)^ +\w+_test\.go:\d+: .*$|^ +\w+\.go:\d+: .*$`)

// said returns the first messages of a failed test.
func said(output []byte) []byte {
	lines := remark.FindAll(output, 3)
	for i, l := range lines {
		lines[i] = bytes.TrimSpace(l[:min(len(l), 300)])
	}
	return bytes.Join(lines, []byte("\n"))
}

// TestUpToDate looks for the text that each mutant edits, for its test, and for a mutant of each
// promise.
func TestUpToDate(t *testing.T) {
	var promises []string
	for _, m := range all {
		promises = append(promises, m.Promise)
		if _, err := m.mutated(); err != nil {
			t.Error(err)
		}
		if !m.hasTest(t) {
			t.Errorf("%s has no %s; the mutant %q needs to be brought up to date", m.Package, m.Test, m.Name)
		}
	}
	if got := strings.Join(slices.Compact(promises), " "); got != "P1 P2 P3 P4 P5 P6 P7 P8" {
		t.Errorf("there are mutants of %s", got)
	}
}

// hasTest reports whether the package has the named test. It does not look for the subtest.
func (m *mutant) hasTest(t *testing.T) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(module, m.Package, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(m.Test, "/")
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file) //nolint:gosec // a file of ours
		return err == nil && bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T) {"))
	})
}
