package releases_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const weaver = "github.com/DataDog/orchestrion"

// releases are the two newest of the weaver. The first is the one that the example's
// go.mod names.
var releases = []string{"v1.15.0", "v1.14.0"}

// race is how everything is built here, with one set of instructions: so the standard
// library is woven but once for each release.
const race = "-race"

func TestReleases(t *testing.T) {
	kit, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	example := filepath.Join(kit, "weave", "example")
	for i, release := range releases {
		t.Run(release, func(t *testing.T) {
			dir := t.TempDir()
			tool := filepath.Join(dir, "orchestrion")
			if i == 0 {
				if got := strings.TrimSpace(command(t, example, nil, "go", "list", "-m", "-f", "{{.Version}}", weaver)); got != release {
					t.Fatalf("the example has the weaver's %s", got)
				}
				command(t, example, nil, "go", "build", "-o", tool, weaver)
			} else {
				command(t, dir, []string{"GOBIN=" + dir}, "go", "install", weaver+"@"+release)
			}
			if got := command(t, dir, nil, tool, "version"); !strings.Contains(got, release) {
				t.Fatalf("the weaver is %s", got)
			}
			t.Run("example", func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
					t.Fatal(err)
				}
				if err := setUp(dir, example); err != nil {
					t.Fatal(err)
				}
				out := command(t, dir, asIs, tool, "go", "test", race, "-cover", "-coverpkg=./...", "-count=1", "-v", ".")
				for _, want := range []string{"--- PASS: TestKeys/all ", "\nok ", "coverage: "} {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in\n%s", want, out)
					}
				}
				if out := command(t, dir, asIs, tool, "go", "run", race, "."); !strings.Contains(out, "order 7 was paid 1 time(s)") {
					t.Errorf("the program says\n%s", out)
				}
			})
			t.Run("script", func(t *testing.T) {
				testscript.Run(t, testscript.Params{
					Dir: "testdata",
					Setup: func(e *testscript.Env) error {
						return errors.Join(setUp(e.WorkDir, example), setEnv(e, filepath.Dir(tool)))
					},
					Condition: func(name string) (bool, error) {
						if name != "newest" {
							return false, fmt.Errorf("there is no condition %s", name)
						}
						return i == 0, nil
					},
				})
			})
		})
	}
}

// asIs makes the weaver not replace itself by the release that a go.mod names.
var asIs = []string{"DD_ORCHESTRION_IS_GOMOD_VERSION=true"}

// command runs one and returns its output.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// setUp makes a module in dir that requires what the example does.
func setUp(dir, example string) error {
	for _, name := range []string{"go.mod", "go.sum", "orchestrion.tool.go"} {
		text, err := os.ReadFile(filepath.Join(example, name))
		if err != nil {
			return err
		}
		text = bytes.Replace(text, []byte("module github.com/distlock-go/distlock/weave/example"), []byte("module example.com/shop"), 1)
		text = bytes.Replace(text, []byte("=> ../.."), []byte("=> "+filepath.Join(example, "..", "..")), 1)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// setEnv lets a script find the tool and what the go command has downloaded and built.
func setEnv(e *testscript.Env, tools string) error {
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GONOSUMDB"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return err
		}
		e.Setenv(name, strings.TrimSpace(string(value)))
	}
	e.Setenv("GOFLAGS", race)
	e.Setenv("PATH", tools+string(filepath.ListSeparator)+e.Getenv("PATH"))
	for _, v := range asIs {
		name, value, _ := strings.Cut(v, "=")
		e.Setenv(name, value)
	}
	return nil
}
