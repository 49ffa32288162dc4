package spec

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

var (
	//go:embed lease.qnt
	leasePage string
	//go:embed redlock.qnt
	redlockPage string
)

// program returns Quint: of PATH, or where .ci/install lab puts it. Without it, it skips the
// test, or fails it.
func program(tb testing.TB) string {
	tb.Helper()
	testmode.Long(tb)
	path, missing := child.LookPath("quint", "needs quint: .ci/install lab installs it")
	if missing == nil {
		return path
	}
	dir, err := os.Getwd()
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", ".quint", "node_modules", ".bin", "quint")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	child.Need(tb, missing)
	return ""
}

// quint runs random histories of a page with constants, and returns what Quint says.
func quint(tb testing.TB, page, constants string, args ...string) (string, error) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "page.qnt")
	module := page + "module m { import " + constants + ".* }\n"
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		tb.Fatal(err)
	}
	args = append([]string{"run", "--backend=typescript", "--main=m", "--verbosity=1"}, append(args, "--max-steps=40", file)...)
	output, err := exec.CommandContext(tb.Context(), program(tb), args...).CombinedOutput()
	return string(output), err
}

var firstLine = regexp.MustCompile(`(?m)^(\[\w+\].*)$`)

// TestQuint checks the types of the pages in Quint, and runs random histories of them: the
// promises hold, and break where they should.
func TestQuint(t *testing.T) {
	for _, page := range []string{"lease.qnt", "redlock.qnt"} {
		if output, err := run(t, ".", program(t), "typecheck", page); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	type runs func(t *testing.T, args ...string) (string, error)
	lease := func(off, failovers int, rates string) runs {
		return func(t *testing.T, args ...string) (string, error) {
			t.Helper()
			return quint(t, leasePage, fmt.Sprintf("lease(OFF = %d, RATES = Set(%s), FAILOVERS = %d)", off, rates, failovers), args...)
		}
	}
	redlock := func(off int, rates string) runs {
		return func(t *testing.T, args ...string) (string, error) {
			t.Helper()
			return quint(t, redlockPage, fmt.Sprintf("redlock(OFF = %d, RATES = Set(%s))", off, rates), args...)
		}
	}
	const all = "990, 1000, 1010"
	for name, c := range map[string]struct {
		runs    runs
		promise string
		breaks  bool
		samples int
	}{
		"the promises":                         {lease(0, 0, all), "promises", false, 500},
		"the promises, with a failover":        {lease(0, 1, all), "promises", false, 500},
		"a clock that is off by more than 1 %": {lease(0, 0, "980"), "P2", true, 20000},
		"no tombstones":                        {lease(19, 0, "1000"), "P7", true, 20000},
		"a release of any owner":               {lease(16, 0, "1000"), "P6", true, 20000},
		"an attempt that overwrites":           {lease(15, 0, "1000"), "P1", true, 20000},
		"an attempt that is not repeatable":    {lease(23, 0, "1000"), "P5", true, 20000},
		"a hand-over with the same token":      {lease(5, 0, "1000"), "P3", true, 20000},
		"redlock":                              {redlock(0, all), "promises", false, 1000},
		"redlock, a clock that is off":         {redlock(0, "970"), "P1", true, 20000},
		"redlock without a quorum":             {redlock(1, "1000"), "P1", true, 20000},
		"redlock, an empty node votes":         {redlock(2, "1000"), "P1", true, 20000},
		"redlock, a node overwrites":           {redlock(3, "1000"), "P1", true, 20000},
		"redlock, counted from the quorum":     {redlock(4, "1000"), "P1", true, 20000},
		"redlock without a margin":             {redlock(5, "990"), "P1", true, 20000},
		"redlock, a release of any owner":      {redlock(6, "1000"), "P6", true, 20000},
		"redlock, a renewal of any owner":      {redlock(9, "1000"), "P7", true, 20000},
		"redlock without tombstones":           {redlock(10, "1000"), "P7", true, 20000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			output, err := c.runs(t, "--invariant="+c.promise, fmt.Sprintf("--max-samples=%d", c.samples))
			said := firstLine.FindString(output)
			if found := err != nil && regexp.MustCompile(`Invariant violated|\[violation\]`).MatchString(output); found != c.breaks || err != nil && !found {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s: %s", c.promise, said)
		})
	}
}
