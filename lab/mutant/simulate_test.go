package mutant

import (
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// planted are the mutants that the simulator finds without a test of their own.
var planted = []string{
	"release-of-another", "points-in-time", "deadline-from-the-reply", "clock-set-back", "token-for-two",
	"gate-opened-at-loss", "no-poll", "tombstone-ignored", "tombstone-not-written", "renewal-recreates",
	"renewal-counts-from-the-answer", "unwatched-after-the-release", "late-attempt-shortens",
}

// TestSimulatorFinds plants each bug, and runs the simulator on some seeds: it must find a
// violation.
func TestSimulatorFinds(t *testing.T) {
	testmode.Long(t)
	found := regexp.MustCompile(`seeds with violations: [1-9].*`)
	for _, name := range planted {
		t.Run(name, func(t *testing.T) {
			m := all[slices.IndexFunc(all, func(m mutant) bool { return m.Name == name })]
			overlay, err := m.overlay(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "go", "run", "./lab/simulate", "-seeds=30", "-shrink=false", "-overlay", overlay) //nolint:gosec // all of it is ours
			cmd.Dir = module
			said, _ := cmd.CombinedOutput() // a violation is an error
			result := found.Find(said)
			if result == nil {
				t.Fatalf("not found: %s\n%s", m.Rule, said)
			}
			t.Logf("%s %s: %s", m.Promise, m.Rule, result)
		})
	}
}
