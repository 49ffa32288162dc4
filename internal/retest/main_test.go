package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// part is the result of one test, or of the package if it has no name.
type part struct {
	test, result string
	real         bool
	output       string
}

// said returns what go test -json prints of a package.
func said(parts ...part) string {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	for _, p := range parts {
		if p.real {
			_ = enc.Encode(event{Action: "attr", Package: "p", Test: p.test, Key: "time", Value: "real"})
		}
		if p.output != "" {
			_ = enc.Encode(event{Action: "output", Package: "p", Test: p.test, Output: p.output})
		}
		if p.result != "" {
			_ = enc.Encode(event{Action: p.result, Package: "p", Test: p.test})
		}
	}
	return text.String()
}

var (
	ok     = part{result: "pass", output: "PASS\nok  \tp\t0.1s\n"}
	failed = part{result: "fail", output: "FAIL\nFAIL\tp\t0.1s\n"}
)

func TestRun(t *testing.T) {
	real1 := part{"TestReal", "fail", true, "--- FAIL: TestReal, first\n"}
	for name, c := range map[string]struct {
		runs []string // what go test says, each time it is run
		want []string // printed
		err  string
	}{
		"all pass": {
			[]string{said(part{"TestA", "pass", false, "chatter\n"}, part{"TestB", "skip", false, "b_test.go:1: left out: slow\n"}, part{"TestC", "skip", false, "never\n"}, ok)},
			[]string{"ok  \tp\t0.1s\n\n1 tests passed, 1 do not apply; left out: 1 (slow)\n"}, "",
		},
		"second try": {
			[]string{said(real1, failed), said(part{"TestReal", "pass", true, "--- PASS: TestReal, second\n"}, ok)},
			[]string{"--- FAIL: TestReal, first\nFAIL\n", "--- PASS: TestReal, second\n", "needed a second try, and passed: TestReal of p\n"}, "",
		},
		"twice": {
			[]string{said(real1, failed), said(part{"TestReal", "fail", true, "--- FAIL: TestReal, second\n"}, failed)},
			[]string{"--- FAIL: TestReal, first\n", "--- FAIL: TestReal, second\n"}, "failed: TestReal of p, twice",
		},
		"not run": {[]string{said(real1, failed), said(ok)}, nil, "failed: TestReal of p, twice"},
		"leak in the second try": {
			[]string{said(real1, failed), said(part{"TestReal", "pass", true, ""}, part{result: "fail", output: "leak\n"})},
			[]string{"leak\n"}, "failed: TestReal of p, twice",
		},
		"deterministic": {[]string{said(part{"TestA", "fail", false, "a\n"}, part{"TestB", "pass", true, "b\n"}, failed)}, []string{"a\nFAIL\n"}, "failed: TestA of p"},
		"each of two": {
			[]string{said(real1, part{"TestA", "fail", false, ""}, failed), said(part{"TestReal", "pass", true, ""}, ok)},
			nil, "failed: TestA of p",
		},
		"mark of a parent": {
			[]string{said(part{"TestA", "", true, ""}, part{"TestA/b", "fail", false, ""}, part{"TestA", "fail", false, ""}, failed), said(part{"TestA", "pass", true, ""}, ok)},
			nil, "",
		},
		"mark of a part": {
			[]string{said(part{"TestA/b/c", "pass", true, ""}, part{"TestA/b", "fail", false, ""}, part{"TestA", "fail", false, ""}, failed), said(part{"TestA", "pass", false, ""}, ok)},
			nil, "",
		},
		"mark of another part": {
			[]string{said(part{"TestA/b", "fail", true, ""}, part{"TestA/bc", "fail", false, ""}, part{"TestA", "fail", false, ""}, failed)},
			nil, "failed: TestA of p",
		},
		"panic":         {[]string{said(part{"TestReal", "fail", true, "panic: x\n"}, part{result: "fail", output: "FAIL\tp\t0.1s\n"})}, []string{"panic: x\n"}, "failed: p"},
		"ended early":   {[]string{said(part{"TestReal", "", true, "begun\n"}, part{result: "fail", output: "exit status 3\nFAIL\tp\t0.1s\n"})}, []string{"begun\nexit status 3\n"}, "failed: p"},
		"data race":     {[]string{said(part{"TestReal", "fail", true, "WARNING: DATA RACE\n"}, failed)}, nil, "failed: p"},
		"leak":          {[]string{said(part{"TestReal", "pass", true, ""}, part{result: "fail", output: "PASS\nleak\nFAIL\tp\t0.1s\n"})}, []string{"PASS\nleak\n"}, "failed: p"},
		"no build":      {[]string{`{"Action":"build-output","Output":"x.go:1: no\n"}` + "\n" + said(part{result: "fail", output: "FAIL\tp [build failed]\n"})}, []string{"x.go:1: no\nFAIL\tp [build failed]\n"}, "failed: p"},
		"nothing runs":  {[]string{"no such thing\n"}, []string{"no such thing\n"}, "exit status 1"},
		"too many fail": {[]string{said(slices.Concat(many(11), []part{failed})...)}, nil, "11 tests in real time"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			calls := 0
			err := run(&out, func(args []string, read func(io.Reader) error) error {
				if calls++; calls > len(c.runs) {
					t.Fatalf("run once more: %q", args)
				}
				want := []string{"-race", "p"}
				if calls > 1 {
					want = []string{"-race", "-count=1", "-run=^Test(Real|A)$", "p"}
					args[2] = strings.Replace(strings.Replace(args[2], "TestReal", "Test(Real|A)", 1), "TestA", "Test(Real|A)", 1)
				}
				if !slices.Equal(args, want) {
					t.Errorf("go test %q, want %q", args, want)
				}
				text := c.runs[calls-1]
				err := read(strings.NewReader(text))
				if !strings.Contains(text, `"pass","Package":"p"`) || strings.Contains(text, `"fail","Package":"p"`) {
					err = errors.Join(err, errors.New("exit status 1"))
				}
				return err
			}, []string{"-race"}, []string{"p"})
			if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			if calls != len(c.runs) {
				t.Errorf("%d runs, want %d", calls, len(c.runs))
			}
			rest := out.String()
			for _, w := range c.want {
				_, after, found := strings.Cut(rest, w)
				if !found {
					t.Fatalf("%q is missing, or not in order, in\n%s", w, out.String())
				}
				rest = after
			}
		})
	}
}

// many returns n tests in real time that fail.
func many(n int) []part {
	var all []part
	for i := range n {
		all = append(all, part{"Test" + strings.Repeat("X", i+1), "fail", true, ""})
	}
	return all
}

// TestGoTest lets the go command run a test that passes at the second try.
func TestGoTest(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

func TestFails(t *testing.T) {
	t.Attr("time", "real")
	t.Run("part", func(t *testing.T) {
		if err := os.Mkdir("been here", 0o700); err == nil {
			t.Error("for the first time")
		}
	})
}

func TestOther(t *testing.T) {
	if _, err := os.Stat("other"); err == nil {
		t.Error("run twice")
	}
	_ = os.WriteFile("other", nil, 0o600)
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	err := run(&out, goTest, nil, []string{"./..."})
	if text := out.String(); err != nil || !strings.Contains(text, "for the first time") ||
		!strings.HasSuffix(text, "\n1 tests passed, 0 do not apply, none was left out\nneeded a second try, and passed: TestFails of example.com/m\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestSplit(t *testing.T) {
	flags, packages := split([]string{"-race", "-shuffle=on", "./...", "./x"})
	if !slices.Equal(flags, []string{"-race", "-shuffle=on"}) || !slices.Equal(packages, []string{"./...", "./x"}) {
		t.Errorf("%q, %q", flags, packages)
	}
}
