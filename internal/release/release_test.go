package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const root = "../.."

const text = `# Changelog

## [Unreleased]

### Added

- One thing.

## [0.1.0] - 2026-11-23

The first.

[Unreleased]: https://github.com/distlock-go/distlock/compare/v0.1.0...HEAD
[0.1.0]: https://github.com/distlock-go/distlock/releases/tag/v0.1.0
`

func TestNotes(t *testing.T) {
	t.Parallel()
	if got, err := notes(text, "v0.1.0"); err != nil || got != "The first." {
		t.Errorf("%q, %v", got, err)
	}
	for version, text := range map[string]string{
		"v0.2.0": text, // which has no such section
		"v0.3.0": "## [0.3.0]\n\nNo date.\n",
		"v0.4.0": "## [0.4.0] - 2026-11-23\n\n## [0.3.0]\n\nNothing in 0.4.0.\n",
	} {
		if got, err := notes(text, version); err == nil {
			t.Errorf("%s has the notes %q", version, got)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	day := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	got, err := closed(text, "v0.2.0", day)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n\n### Added\n\n- One thing.\n\n## [0.1.0] - 2026-11-23\n",
		"\n[Unreleased]: https://github.com/distlock-go/distlock/compare/v0.2.0...HEAD\n" +
			"[0.2.0]: https://github.com/distlock-go/distlock/compare/v0.1.0...v0.2.0\n[0.1.0]: ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if again, err := closed(got, "v0.2.0", day.AddDate(0, 0, 1)); err != nil || again != got {
		t.Errorf("closed twice: %v\n%s", err, again)
	}
	if _, err := closed(got, "v0.3.0", day); err == nil {
		t.Error("a version without changes is closed")
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()
	const mod = `module github.com/distlock-go/distlock/cmd

require github.com/distlock-go/distlock v0.0.0-00010101000000-000000000000

require (
	github.com/distlock-go/distlock/backend/sqllock v0.0.0
	github.com/distlock-go/distlock/backend/etcdlock v0.1.0 // indirect
	github.com/other/distlock v1.0.0
)

replace github.com/distlock-go/distlock => ..
`
	const want = `module github.com/distlock-go/distlock/cmd

require github.com/distlock-go/distlock v0.2.0

require (
	github.com/distlock-go/distlock/backend/sqllock v0.2.0
	github.com/distlock-go/distlock/backend/etcdlock v0.2.0 // indirect
	github.com/other/distlock v1.0.0
)

replace github.com/distlock-go/distlock => ..
`
	if got := require(mod, "v0.2.0"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestCompatible(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		last, version, before, now string
		ok                         bool
	}{
		{"v0.1.0", "v0.1.1", "a\nb\n", "a\nb\nc\n", true},
		{"v0.1.0", "v0.1.1", "a\nb\n", "a\n", false},
		{"v0.1.0", "v0.2.0", "a\nb\n", "a\n", true},
		{"v1.1.0", "v1.2.0", "a\nb\n", "a\n", false},
		{"v1.1.0", "v2.0.0", "a\nb\n", "a\n", true},
	} {
		if err := compatible(test.last, test.version, test.before, test.now); (err == nil) != test.ok {
			t.Errorf("%+v: %v", test, err)
		}
	}
}

// Each released module is in the workspace, and requires only released ones, all in one
// version. The commands have no replace directive, which go install refuses.
func TestReleased(t *testing.T) {
	t.Parallel()
	work := read(t, "go.work")
	of := map[string]string{} // version of each requirement
	own := regexp.MustCompile(`(?m)^(?:require )?\s*(` + regexp.QuoteMeta(library) + `(?:/\S+)?) (v\S+)`)
	var modules []string
	for _, dir := range released {
		modules = append(modules, module(dir))
	}
	for _, dir := range released {
		if use := "\t./" + dir; !strings.Contains(work, strings.TrimSuffix(use, "/.")+"\n") {
			t.Errorf("go.work has no %s", dir)
		}
		mod := read(t, filepath.Join(dir, "go.mod"))
		if !strings.HasPrefix(mod, "module "+module(dir)+"\n") {
			t.Errorf("%s is not the module %s", dir, module(dir))
		}
		for _, m := range own.FindAllStringSubmatch(mod, -1) {
			if !slices.Contains(modules, m[1]) {
				t.Errorf("%s requires %s, which is not released", dir, m[1])
			}
			of[m[2]] = dir
		}
	}
	if len(of) != 1 {
		t.Errorf("the modules require several versions of each other: %v", of)
	}
	for _, dir := range []string{"cmd", "gen"} {
		if strings.Contains(read(t, dir+"/go.mod"), "\nreplace ") {
			t.Errorf("%s/go.mod has a replace directive", dir)
		}
	}
}

// The packages whose API is in api.txt are in modules that are released.
func TestPublicPackagesAreReleased(t *testing.T) {
	t.Parallel()
	mods, err := goMods(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range mods {
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			t.Fatal(err)
		}
		public := regexp.MustCompile(`(?m)^pkg ` + regexp.QuoteMeta(module(filepath.ToSlash(dir))) + `[,/]`).MatchString(read(t, "api.txt"))
		if dir != "." && public && !slices.Contains(released, filepath.ToSlash(dir)) {
			t.Errorf("%s has a public API and is not released", dir)
		}
	}
}

func TestRun(t *testing.T) {
	t.Chdir(root)
	var out strings.Builder
	if err := run(t.Context(), &out, "tags", "v9.8.7"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(released) || lines[len(lines)-1] != "v9.8.7" || !slices.Contains(lines, "cmd/v9.8.7") {
		t.Errorf("tags %q", lines)
	}
	out.Reset()
	if err := run(t.Context(), &out, "notes", "v0.1.0"); err != nil || !strings.Contains(out.String(), "first release") {
		t.Errorf("%v, notes %q", err, out.String())
	}
	for _, args := range [][]string{{}, {"notes"}, {"notes", "0.1.0"}, {"notes", "v0.01.0"}, {"notes", "v9.9.9"}, {"sell", "v0.1.0"}} {
		if err := run(t.Context(), &out, args...); err == nil {
			t.Errorf("%q is not refused", args)
		}
	}
}

// prepare changes what check finds wrong, and nothing else.
func TestPrepare(t *testing.T) {
	t.Chdir(t.TempDir())
	const mod = "module example.com/m\n\nrequire github.com/distlock-go/distlock v0.1.0\n"
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", mod)
	write("backend/go.mod", mod)
	write("testdata/go.mod", mod)
	write(changelog, text)
	c := checker{version: "v0.2.0"}
	if err := c.requirements(); err == nil {
		t.Error("the old version is not refused")
	}
	if err := prepare("v0.2.0", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := c.requirements(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"go.mod": "v0.2.0", "backend/go.mod": "v0.2.0", "testdata/go.mod": "v0.1.0", changelog: "## [0.2.0] - "} {
		if got, err := os.ReadFile(name); err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// The API is compared with that of the tag before the last commit.
func TestAPI(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	commit := func(api string) {
		t.Helper()
		if err := os.WriteFile("api.txt", []byte(api), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "api.txt")
		git("commit", "--quiet", "--message", "api")
	}
	git("init", "--quiet")
	commit("f\n")
	commit("f\ng\n")
	var out strings.Builder
	c := checker{out: &out, version: "v0.1.1"}
	if err := c.api(t.Context()); err != nil || !strings.Contains(out.String(), "no release before") {
		t.Errorf("%v, %q", err, out.String())
	}
	git("tag", "v0.1.0")
	git("tag", "cmd/v0.1.0")
	commit("f\n")
	if err := c.api(t.Context()); err == nil || !strings.Contains(err.Error(), "\ng") {
		t.Errorf("a function is gone: %v", err)
	}
	c.version = "v0.2.0"
	if err := c.api(t.Context()); err != nil {
		t.Error(err)
	}

	origin, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	git("clone", "--quiet", "--depth=1", "file://"+origin, "shallow")
	t.Chdir("shallow")
	if err := c.api(t.Context()); err == nil || !strings.Contains(err.Error(), "shallow") {
		t.Errorf("in a clone without the tags: %v", err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
