package spec

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// Random are the constants of lease.qnt and the options of a run of random histories.
type Random struct {
	Off, Failovers int    // see lease.qnt
	Rates          string // such as "990, 1000"; the default is "990, 1000, 1010"
	Step           string // a definition of the action other, which replaces step; it may use what lease.qnt has
	Steps          int    // of a history; the default is 40
	Seed           int
}

// program returns Quint, which make spec finds where .ci/install lab puts it. Without it, it
// skips the test, or fails it.
func program(tb testing.TB) string {
	tb.Helper()
	testmode.Long(tb)
	path, err := child.LookPath("quint", "needs quint in PATH: .ci/install lab installs it")
	child.Need(tb, err)
	return path
}

// quint runs random histories of lease.qnt and returns what Quint says. The arguments come
// first.
func (r Random) quint(tb testing.TB, args ...string) (string, error) {
	tb.Helper()
	if r.Rates == "" {
		r.Rates = "990, 1000, 1010"
	}
	if r.Steps == 0 {
		r.Steps = 40
	}
	if r.Step != "" {
		args = append(args, "--step=other")
	}
	if r.Seed != 0 {
		args = append(args, fmt.Sprintf("--seed=%d", r.Seed))
	}
	constants := fmt.Sprintf("lease(OFF = %d, RATES = Set(%s), FAILOVERS = %d)", r.Off, r.Rates, r.Failovers)
	return quint(tb, leasePage, constants, r.Step, append(args, fmt.Sprintf("--max-steps=%d", r.Steps))...)
}

// quint runs random histories of a page with constants and more definitions.
func quint(tb testing.TB, page, constants, more string, args ...string) (string, error) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "page.qnt")
	module := page + "module m { import " + constants + ".*\n" + more + "\n}\n"
	if err := os.WriteFile(file, []byte(module), 0o600); err != nil {
		tb.Fatal(err)
	}
	args = append([]string{"run", "--backend=typescript", "--main=m", "--verbosity=1"}, append(args, file)...)
	output, err := exec.CommandContext(tb.Context(), program(tb), args...).CombinedOutput()
	return string(output), err
}

// Histories returns n histories, in which a promise breaks only if a guard is left out. The same
// Random gives the same ones. It skips the test if Quint is missing.
func (r Random) Histories(tb testing.TB, n int) []History {
	tb.Helper()
	dir, invariant := tb.TempDir(), "promises"
	if r.Off != 0 {
		invariant = "true"
	}
	output, err := r.quint(tb, "--invariant="+invariant, fmt.Sprintf("--max-samples=%d", n), fmt.Sprintf("--n-traces=%d", n), "--out-itf="+filepath.Join(dir, "{seq}.json"))
	if err != nil {
		tb.Fatalf("%v\n%s", err, output)
	}
	all := make([]History, n)
	for i := range all {
		trace, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)))
		if err == nil {
			all[i], err = Read(trace)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all
}
