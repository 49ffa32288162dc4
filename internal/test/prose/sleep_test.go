package prose

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A file of tests that sleep has bubbles: in real time a sleep is too short on a slow machine,
// and too long on every other. The linter, which cannot see bubbles, allows time.Sleep in
// the tests of these packages.
func TestSleepsAreInBubbles(t *testing.T) {
	t.Parallel()
	sleeps, bubbles, sleepers := regexp.MustCompile(`\btime\.Sleep\(`), regexp.MustCompile(`\bsynctest\.|([bB]ubble\w*|hooked)\(`), 0
	for _, dir := range []string{".", "driver", "internal/test/root", "lockui", "telemetry/otellock"} {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no tests in %s: %v", dir, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !sleeps.Match(text) {
				continue
			}
			if sleepers++; !bubbles.Match(text) {
				t.Errorf("%s sleeps in real time", path)
			}
		}
	}
	if sleepers < 20 {
		t.Errorf("%d files sleep: the check looks at too few", sleepers)
	}
}
