// Package release tries releases on made-up tags, and the last one beside this one.
package release

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// clone is a copy of the committed repository, in which versions are released.
type clone struct {
	*testing.T

	dir string
}

// sh runs a shell script in the clone.
func (c clone) sh(script string) (string, error) {
	cmd := exec.CommandContext(c.Context(), "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = c.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (c clone) must(script string) {
	c.Helper()
	if out, err := c.sh(script); err != nil {
		c.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// prepare closes a changelog whose section Unreleased has one line.
func (c clone) prepare(version string) {
	c.Helper()
	c.must(`sed -i '0,/^## \[/s//## [Unreleased]\n\n- made up\n\n&/; s/ - not released yet$/ (made up)/' CHANGELOG.md
.ci/release prepare ` + version + ` && git commit --quiet --all --message ` + version)
}

// refused wants a release that fails, with all these texts.
func (c clone) refused(version string, texts ...string) {
	c.Helper()
	out, err := c.sh(".ci/release beside " + version)
	for _, text := range texts {
		if err == nil || !regexp.MustCompile(text).MatchString(out) {
			c.Fatalf("%s: %v, want %s in\n%s", version, err, text, out)
		}
	}
}

// TestModulesOfTwoReleases: in a patch an internal function has another name, so modules of
// the release before do not compile beside the library. A minor version has another path for
// all. The changelog must say it both times.
func TestModulesOfTwoReleases(t *testing.T) {
	testmode.Long(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c := clone{t, t.TempDir()}
	c.must("git clone --quiet " + root + " . && git config user.name test && git config user.email test@example.com")
	c.prepare("v0.900.0")
	c.refused("v0.900.1", "CHANGELOG.md has no dated section")
	c.must(`for tag in $(.ci/release tags v0.900.0); do git tag "$tag"; done`)

	c.must(`grep -rl 'rolling\.New\b' --include=*.go . | xargs sed -i 's/\brolling\.New\b/rolling.NewTimeout/g'
sed -i 's/^func New(/func NewTimeout(/; s/^.. New returns/\/\/ NewTimeout returns/' internal/rolling/rolling.go`)
	c.prepare("v0.900.1")
	c.refused("v0.900.1", `undefined: rolling\.New\b`, "CHANGELOG.md does not say: raise all modules together")
	c.must(`sed -i 's/^- made up$/- Raise all modules together./' CHANGELOG.md && git commit --quiet --all --message said`)
	c.must(".ci/release beside v0.900.1")
	c.must(`for tag in $(.ci/release tags v0.900.1); do git tag "$tag"; done`)

	c.prepare("v0.901.0")
	c.must(`grep -A2 '^## \[0.901.0\]' CHANGELOG.md | grep 'Raise all modules together'`)
	c.must(".ci/release beside v0.901.0")
	c.must(`sed -i '/^Raise all modules together/d' CHANGELOG.md && git commit --quiet --all --message unsaid`)
	c.refused("v0.901.0", `providing package \S+/raise-all-modules-together/v0\.900`, "CHANGELOG.md does not say")
	c.must(`sed -i 's/^## \[0.900.1\] - .*/## [0.899.0] - 2026-01-01/' CHANGELOG.md`)
	c.refused("v0.901.0", "calls v0.899.0 released, and it has no tag")
}
