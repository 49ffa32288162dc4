// Package maven builds Maven projects for tests and benchmarks that run programs in Java.
package maven

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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
	digest, err := sources([]string{filepath.Join(dir, "pom.xml"), filepath.Join(dir, "src")})
	if err != nil {
		return nil, err
	}
	stamp := filepath.Join(target, "built-from")
	if last, err := os.ReadFile(stamp); err != nil || string(last) != digest {
		cmd := exec.CommandContext(ctx, mvn, "-q", "-B", "package")
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("mvn package in %s: %w\n%s", dir, err, out)
		}
		if err := os.WriteFile(stamp, []byte(digest), 0o600); err != nil {
			return nil, err
		}
	}
	libraries, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		return nil, err
	}
	return &Project{java, filepath.Join(target, "main.jar") + string(filepath.ListSeparator) + strings.TrimSpace(string(libraries))}, nil
}

// sources returns a digest of files, and of those in directories.
func sources(paths []string) (string, error) {
	h := sha256.New()
	add := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // nothing was written
		_, _ = fmt.Fprintf(h, "%q\n", path)
		_, err = io.Copy(h, f)
		return err
	}
	for _, path := range paths {
		if err := filepath.WalkDir(path, add); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
