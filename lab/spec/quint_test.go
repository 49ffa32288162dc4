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

// TestQuint checks the types of the page in Quint, and runs random histories of it: the
// promises hold, and break where they should.
func TestQuint(t *testing.T) {
	program := quint(t)
	if output, err := run(t, ".", program, "typecheck", "lease.qnt"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	page, err := os.ReadFile("lease.qnt")
	if err != nil {
		t.Fatal(err)
	}
	page = slices.Clip(page)
	for name, c := range map[string]struct {
		off, failovers int
		rates, promise string
		breaks         bool
		samples        int
	}{
		"the promises":                         {0, 0, "990, 1000, 1010", "promises", false, 500},
		"the promises, with a failover":        {0, 1, "990, 1000, 1010", "promises", false, 500},
		"a clock that is off by more than 1 %": {0, 0, "980", "P2", true, 20000},
		"no tombstones":                        {19, 0, "1000", "P7", true, 20000},
		"a release of any owner":               {16, 0, "1000", "P6", true, 20000},
		"an attempt that overwrites":           {15, 0, "1000", "P1", true, 20000},
		"an attempt that is not repeatable":    {23, 0, "1000", "P5", true, 20000},
		"a hand-over with the same token":      {5, 0, "1000", "P3", true, 20000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "lease.qnt")
			module := fmt.Appendf(page, "module m { import lease(OFF = %d, RATES = Set(%s), FAILOVERS = %d).* }\n", c.off, c.rates, c.failovers)
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
