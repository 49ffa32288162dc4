package spec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// quint returns the program: of PATH, or where .ci/install lab puts it.
func quint(t *testing.T) string {
	t.Helper()
	testmode.Long(t)
	if path, err := exec.LookPath("quint"); err == nil {
		return path
	}
	path, err := filepath.Abs("../../bin/.quint/node_modules/.bin/quint")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil && child.Required() {
		t.Fatal(err)
	} else if err != nil {
		t.Skipf(testmode.LeftOut+"%v", err)
	}
	return path
}

var firstLine = regexp.MustCompile(`(?m)^(\[\w+\].*)$`)

// TestQuint checks the types of the pages in Quint, and runs random histories of them: the
// promises hold, and break where they should.
func TestQuint(t *testing.T) {
	program := quint(t)
	pages := make(map[string][]byte)
	for _, module := range []string{"lease", "redlock"} {
		if output, err := run(t, ".", program, "typecheck", module+".qnt"); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		page, err := os.ReadFile(module + ".qnt")
		if err != nil {
			t.Fatal(err)
		}
		pages[module] = slices.Clip(page)
	}
	const all, many = "990, 1000, 1010", 20000
	for name, c := range map[string]struct {
		module, constants, promise string
		breaks                     bool
		samples                    int
	}{
		"the promises":                         {"lease", "OFF = 0, FAILOVERS = 0, RATES = Set(" + all + ")", "promises", false, 500},
		"the promises, with a failover":        {"lease", "OFF = 0, FAILOVERS = 1, RATES = Set(" + all + ")", "promises", false, 500},
		"a clock that is off by more than 1 %": {"lease", "OFF = 0, FAILOVERS = 0, RATES = Set(980)", "P2", true, many},
		"no tombstones":                        {"lease", "OFF = 19, FAILOVERS = 0, RATES = Set(1000)", "P7", true, many},
		"a release of any owner":               {"lease", "OFF = 16, FAILOVERS = 0, RATES = Set(1000)", "P6", true, many},
		"an attempt that overwrites":           {"lease", "OFF = 15, FAILOVERS = 0, RATES = Set(1000)", "P1", true, many},
		"an attempt that is not repeatable":    {"lease", "OFF = 23, FAILOVERS = 0, RATES = Set(1000)", "P5", true, many},
		"a hand-over with the same token":      {"lease", "OFF = 5, FAILOVERS = 0, RATES = Set(1000)", "P3", true, many},
		"redlock":                              {"redlock", "OFF = 0, RATES = Set(" + all + ")", "promises", false, 1000},
		"redlock, a clock that is off":         {"redlock", "OFF = 0, RATES = Set(970)", "P1", true, many},
		"redlock without a quorum":             {"redlock", "OFF = 1, RATES = Set(1000)", "P1", true, many},
		"redlock, an empty node votes":         {"redlock", "OFF = 2, RATES = Set(1000)", "P1", true, many},
		"redlock, a node overwrites":           {"redlock", "OFF = 3, RATES = Set(1000)", "P1", true, many},
		"redlock, counted from the quorum":     {"redlock", "OFF = 4, RATES = Set(1000)", "P1", true, many},
		"redlock without a margin":             {"redlock", "OFF = 5, RATES = Set(990)", "P1", true, many},
		"redlock, a release of any owner":      {"redlock", "OFF = 6, RATES = Set(1000)", "P6", true, many},
		"redlock, a renewal of any owner":      {"redlock", "OFF = 9, RATES = Set(1000)", "P7", true, many},
		"redlock without tombstones":           {"redlock", "OFF = 10, RATES = Set(1000)", "P7", true, many},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), c.module+".qnt")
			module := fmt.Appendf(pages[c.module], "module m { import %s(%s).* }\n", c.module, c.constants)
			if err := os.WriteFile(file, module, 0o600); err != nil {
				t.Fatal(err)
			}
			output, err := run(t, ".", program, "run", "--backend=typescript", "--main=m", "--invariant="+c.promise,
				"--max-steps=40", fmt.Sprintf("--max-samples=%d", c.samples), "--verbosity=1", file)
			said := firstLine.FindString(output)
			if found := err != nil && regexp.MustCompile(`Invariant violated|\[violation\]`).MatchString(output); found != c.breaks || err != nil && !found {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s: %s", c.promise, said)
		})
	}
}
