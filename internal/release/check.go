package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// check tries the release of the last commit. It looks at the CHANGELOG, the requirements
// and the API, sets the tags in a clone, and then does what users do: a new module gets
// each released module from the clone and builds a program with them, and the commands
// are installed and print their version.
func check(ctx context.Context, out io.Writer, version string) error {
	text, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	if _, err := notes(string(text), version); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	c := checker{out: out, version: version, clone: filepath.Join(dir, "clone"), dir: dir}
	if err := errors.Join(c.requirements(), c.api(ctx)); err != nil {
		return err
	}
	return c.install(ctx)
}

type checker struct {
	out     io.Writer
	version string
	dir     string // for everything that the check writes
	clone   string // of the repository, in dir
}

// requirements checks the go.mod of each module: users' go command ignores replace
// directives, so what a module requires must be a version that has a tag.
func (c *checker) requirements() error {
	mods, err := goMods(".")
	for _, name := range mods {
		mod, readErr := os.ReadFile(name)
		if readErr != nil {
			return readErr
		}
		if require(string(mod), c.version) != string(mod) {
			err = errors.Join(err, fmt.Errorf("%s requires another version than %s: go run ./internal/release prepare %[2]s", name, c.version))
		}
	}
	return err
}

// api refuses a version that is compatible by its number with the last release but has
// not all of its API.
func (c *checker) api(ctx context.Context) error {
	shallow, err := c.output(ctx, ".", "git", "rev-parse", "--is-shallow-repository")
	if err != nil {
		return err
	}
	if strings.TrimSpace(shallow) == "true" {
		return errors.New("this clone is shallow, so it may lack the last release: git fetch --unshallow --tags")
	}
	last, err := c.output(ctx, ".", "git", "describe", "--tags", "--abbrev=0", "--match=v*", "HEAD^")
	if err != nil {
		_, _ = fmt.Fprintln(c.out, "api.txt is not compared, because there is no release before this one")
		return nil //nolint:nilerr // git describe found no tag
	}
	last = strings.TrimSpace(last)
	before, err := c.output(ctx, ".", "git", "show", last+":api.txt")
	if err != nil {
		return err
	}
	now, err := os.ReadFile("api.txt")
	if err != nil {
		return err
	}
	return compatible(last, c.version, before, string(now))
}

// compatible compares the API of two versions.
func compatible(last, version, before, now string) error {
	known := make(map[string]bool)
	for line := range strings.Lines(now) {
		known[strings.TrimSpace(line)] = true
	}
	var gone []string
	for line := range strings.Lines(before) {
		if line := strings.TrimSpace(line); !known[line] {
			gone = append(gone, line)
		}
	}
	if len(gone) == 0 || series(last) != series(version) {
		return nil
	}
	return fmt.Errorf("%s lacks parts of the API of %s, so it needs another number:\n%s", version, last, strings.Join(gone, "\n"))
}

// series returns the part of a version that has to change when the API loses something:
// v1 of v1.2.3, and v0.2 of v0.2.3.
func series(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	if major != "v0" {
		return major
	}
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// install sets the tags in a clone, and uses the modules as users do.
func (c *checker) install(ctx context.Context) error {
	if _, err := c.output(ctx, ".", "git", "clone", "--quiet", ".", c.clone); err != nil {
		return err
	}
	for _, tag := range tags(c.version) {
		if _, err := c.output(ctx, c.clone, "git", "tag", "--force", tag); err != nil {
			return err
		}
	}
	user := filepath.Join(c.dir, "user")
	if err := os.Mkdir(user, 0o700); err != nil {
		return err
	}
	if _, err := c.output(ctx, user, "go", "mod", "init", "example.com/user"); err != nil {
		return err
	}
	imports := ""
	for _, dir := range released {
		if dir != "cmd" && dir != "gen" && !strings.HasPrefix(dir, "internal/") {
			if _, err := c.output(ctx, user, "go", "get", module(dir)+"@"+c.version); err != nil {
				return err
			}
			imports += fmt.Sprintf("import _ %q\n", module(dir))
		}
	}
	program := "package main\n\n" + imports + "\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(user, "main.go"), []byte(program), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", filepath.Join(c.dir, "program"), "."}} {
		if _, err := c.output(ctx, user, "go", args...); err != nil {
			return err
		}
	}
	all, err := c.output(ctx, user, "go", "list", "-m", "-f", "{{.Path}} {{.Version}}", "all")
	if err != nil {
		return err
	}
	for line := range strings.Lines(all) {
		if strings.HasPrefix(line, library) {
			_, _ = fmt.Fprint(c.out, line)
		}
	}
	for _, command := range []string{"cmd/distlock", "gen/cmd/distlockgen", "gen/cmd/distlockvet"} {
		if _, err := c.output(ctx, c.dir, "go", "install", module(command)+"@"+c.version); err != nil {
			return err
		}
		line, err := c.output(ctx, c.dir, filepath.Join(c.dir, "bin", path.Base(command)), "-version")
		if err != nil {
			return err
		}
		_, _ = fmt.Fprint(c.out, line)
		if !strings.HasPrefix(line, path.Base(command)+" "+c.version+" ") {
			return fmt.Errorf("%s does not print the version %s: %s", command, c.version, line)
		}
	}
	return nil
}

// output runs a command and returns what it prints. Outside the repository, the go command
// gets the modules of this repository from the clone, and others from the cache of this
// machine, if they are there. Its own cache is a new one, because the tags are not the
// published ones.
func (c *checker) output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if dir != "." {
		env, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOPROXY").Output()
		if err != nil {
			return "", err
		}
		cache, proxy, _ := strings.Cut(strings.TrimSpace(string(env)), "\n")
		cmd.Env = append(os.Environ(),
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+c.clone+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+library,
			"GONOPROXY="+library+","+library+"/*", "GONOSUMDB="+library+","+library+"/*",
			"GOPROXY=file://"+cache+"/cache/download,"+proxy,
			"GOMODCACHE="+filepath.Join(c.dir, "modules"), "GOBIN="+filepath.Join(c.dir, "bin"),
			"GOFLAGS=-modcacherw -trimpath", "GOWORK=off")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}
