// Package maven builds Maven projects for tests and benchmarks that run programs in Java.
package maven

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/distlock-go/distlock/internal/test/child"
)

// Project is a Maven project that has been built.
type Project struct {
	Java      string // the path of the program java
	ClassPath string
}

// Build returns the Maven project in dir. Its pom.xml makes target/main.jar and writes the
// class path of its dependencies to target/classpath. Build runs Maven unless the project is
// built already, by this process or by another.
// The error matches [child.ErrMissing] if Java or Maven is not installed.
func Build(ctx context.Context, dir string) (*Project, error) {
	const needs = "it needs Java and Maven"
	java, err := child.LookPath("java", needs)
	if err != nil {
		return nil, err
	}
	mvn, err := child.LookPath("mvn", needs)
	if err != nil {
		return nil, err
	}
	target, err := filepath.Abs(filepath.Join(dir, "target"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(target, 0o755); err != nil { //nolint:gosec // as Maven makes it
		return nil, err
	}
	// One lock for all projects: two Mavens must not write to one repository of jars.
	unlock, err := child.LockFile(filepath.Join(os.TempDir(), "distlock-maven.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	built := filepath.Join(target, "built")
	if newer(built, filepath.Join(dir, "pom.xml"), filepath.Join(dir, "src")) {
		cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "package")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("mvn package in %s: %w\n%s", dir, err, out)
		}
		if err := os.WriteFile(built, nil, 0o600); err != nil {
			return nil, err
		}
	}
	libraries, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		return nil, err
	}
	return &Project{java, filepath.Join(target, "main.jar") + string(filepath.ListSeparator) + strings.TrimSpace(string(libraries))}, nil
}

// newer reports whether a file below the paths was changed after the result was made, or is not
// known to be older.
func newer(result string, paths ...string) (changed bool) {
	made, err := os.Stat(result)
	for _, path := range paths {
		err = errors.Join(err, filepath.WalkDir(path, func(path string, _ fs.DirEntry, _ error) error {
			if info, err := os.Stat(path); err != nil || made == nil || info.ModTime().After(made.ModTime()) {
				changed = true
			}
			return nil
		}))
	}
	return changed || err != nil
}
