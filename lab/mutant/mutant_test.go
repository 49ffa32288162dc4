// Package mutant breaks the rules of this module one at a time, to show that a test
// fails: a test that never failed proves nothing. A mutant is a few edits of the
// source. The go command compiles the edited files in place of the originals ([go build
// -overlay]); the working tree does not change.
//
// [go build -overlay]: https://pkg.go.dev/cmd/go#hdr-Compile_packages_and_dependencies
package mutant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// mutant is one broken rule and the test that must fail because of it.
type mutant struct {
	Name    string
	Promise string // that of docs/reliability.md which it breaks, such as P3
	Rule    string // the rule that is broken, in a few words
	Edits   []edit
	Package string // the package of the test, such as ./backend/redislock
	Test    string // name of the test, with subtests after slashes
	Needs   string // a server that the test starts; "" if it starts none
}

// edit replaces Old by New. Old must occur exactly once in the file.
type edit struct{ File, Old, New string }

// in returns a function that makes mutants of a package. The named test of that package
// must fail.
func in(pkg string) func(name, promise, rule, test string, edits ...edit) mutant {
	return func(name, promise, rule, test string, edits ...edit) mutant {
		return mutant{Name: name, Promise: promise, Rule: rule, Edits: edits, Package: pkg, Test: test}
	}
}

// on returns m with a test that starts a server.
func (m mutant) on(server string) mutant {
	m.Needs = server
	return m
}

// all are the mutants in the order of the promises.
var all = slices.SortedStableFunc(
	slices.Values(slices.Concat(store, process, core, queue, leaseState, waiting, zooKeeper, etcd, sqlStore, redisServers, redisson, quorum)),
	func(a, b mutant) int { return strings.Compare(a.Promise, b.Promise) })

// module is the root of the module.
const module = "../.."

// run runs the test of m on the mutated source. Its own files are in dir. It returns the
// output of the test, and an error unless the test failed for its own reasons.
func (m *mutant) run(ctx context.Context, dir string) ([]byte, error) {
	overlay, err := m.overlay(dir)
	if err != nil {
		return nil, err
	}
	// The test runs only once, so go vet and debug information are not worth their
	// time.
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-vet=off", "-ldflags=-s -w", "-timeout=3m",
		"-overlay", overlay, "-run", pattern(m.Test), m.Package)
	cmd.Dir = module
	cmd.WaitDelay = 10 * time.Second
	output, err := cmd.CombinedOutput()
	exit := new(exec.ExitError)
	switch {
	case err == nil:
		return output, fmt.Errorf("mutant: %s passes", m.Test)
	case !errors.As(err, &exit):
		return output, fmt.Errorf("mutant: go test: %w", err)
	case !bytes.Contains(output, []byte("--- FAIL: "+m.Test+" ")):
		return output, fmt.Errorf("mutant: %s did not fail, but something else did", m.Test)
	default:
		return output, nil
	}
}

// mutated returns the edited text of the files that m edits. Without the text that m edits,
// it returns an error.
func (m *mutant) mutated() (map[string]string, error) {
	files := make(map[string]string)
	for _, e := range m.Edits {
		if _, ok := files[e.File]; !ok {
			text, err := os.ReadFile(filepath.Join(module, e.File)) //nolint:gosec // a file of ours
			if err != nil {
				return nil, fmt.Errorf("mutant: %w", err)
			}
			files[e.File] = string(text)
		}
		if n := strings.Count(files[e.File], e.Old); n != 1 {
			return nil, fmt.Errorf("mutant: %s has %q %d times; the mutant %q needs to be brought up to date", e.File, e.Old, n, m.Name)
		}
		files[e.File] = strings.Replace(files[e.File], e.Old, e.New, 1)
	}
	return files, nil
}

// overlay writes the mutated files to dir, and the go command's list of them.
func (m *mutant) overlay(dir string) (string, error) {
	files, err := m.mutated()
	if err != nil {
		return "", err
	}
	root, err := filepath.Abs(module)
	if err != nil {
		return "", fmt.Errorf("mutant: %w", err)
	}
	var list struct{ Replace map[string]string }
	list.Replace = make(map[string]string)
	for file, text := range files {
		path := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("mutant: %w", err)
		}
		list.Replace[filepath.Join(root, file)] = path
	}
	text, err := json.Marshal(list)
	if err != nil {
		return "", fmt.Errorf("mutant: %w", err)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("mutant: %w", err)
	}
	return path, nil
}

// pattern returns a -run pattern that matches only the named test.
func pattern(test string) string {
	return "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
}
