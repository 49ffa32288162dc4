package spec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// need skips a test that needs programs that this machine lacks, or fails it.
func need(t *testing.T, programs ...string) {
	t.Helper()
	testmode.Long(t)
	for _, p := range programs {
		_, err := child.LookPath(p, "needs "+p+" in PATH")
		child.Need(t, err)
	}
}

// run runs a program in a directory.
func run(t *testing.T, dir, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// verdict is what SPIN says.
type verdict struct {
	broken  string // the promise, or ""
	history string // the shortest one that breaks it; with LIVE or DEEP some history
	figures string // states, depth, seconds
}

// spin visits the states of a model, all of them unless a promise breaks. A define is such as
// DRIFT=2. If a promise should break, it looks for the shortest history.
func spin(t *testing.T, file string, breaks bool, defines ...string) verdict {
	t.Helper()
	dir, live, deep := t.TempDir(), false, false
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), source, 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	for _, d := range defines {
		args = append(args, "-D"+d)
		live, deep = live || d == "LIVE=1", deep || d == "DEEP=1"
	}
	args = append(args, file)
	must := func(program string, args ...string) {
		if output, err := run(t, dir, program, args...); err != nil {
			t.Fatalf("%s: %v\n%s", program, err, output)
		}
	}
	must("spin", append([]string{"-a"}, args...)...)
	compile, search := []string{"-O2", "-w", "-DCOLLAPSE", "-o", "pan", "pan.c"}, []string{"-E", "-m4000000", "-w24"}
	switch {
	case live:
		compile, search = append(compile, "-DNFAIR=4"), append(search, "-a", "-f")
	case breaks && !deep:
		compile[0], compile = "-O1", append(compile, "-DSAFETY", "-DBFS") // compiling takes longer than the search
	default:
		compile = append(compile, "-DSAFETY")
	}
	must("gcc", compile...)
	output, err := run(t, dir, filepath.Join(dir, "pan"), search...)
	if err != nil || strings.Contains(output, "too small") || strings.Contains(output, "out of memory") {
		t.Fatalf("not all states: %v\n%s", err, output)
	}
	figure := func(pattern string) string {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(output); found != nil {
			return found[1]
		}
		return "no"
	}
	v := verdict{figures: fmt.Sprintf("%s states, depth %s, %s s",
		figure(`(\d+) states, stored`), figure(`depth reached (\d+)`), figure(`elapsed time ([\d.e+]+)`))}
	if found := regexp.MustCompile(`assertion violated .*?is_(P\d)`).FindStringSubmatch(output); found != nil {
		v.broken = found[1]
	} else if strings.Contains(output, "acceptance cycle") {
		v.broken = "P5"
	} else if figure(`errors: (\d+)`) != "0" {
		t.Fatalf("neither a broken promise nor success:\n%s", output)
	}
	if v.broken != "" {
		trail, _ := run(t, dir, "spin", append([]string{"-t"}, args...)...)
		var steps []string
		for _, line := range strings.Split(trail, "\n") {
			if strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "  <<<") || strings.Contains(line, "START OF CYCLE") {
				steps = append(steps, strings.TrimSpace(line))
			} else if strings.HasPrefix(line, "spin: trail ends") {
				break
			}
		}
		v.history = strings.Join(steps[:min(len(steps), 40)], "\n\t")
	}
	return v
}

// TestPromises visits every state: the promises hold.
func TestPromises(t *testing.T) {
	need(t, "spin", "gcc")
	for name, c := range map[string]struct {
		file    string
		defines []string
	}{
		"P1 P2 P5 P6 P7":                     {"lease.pml", nil},
		"P3 P4 P6, with a failover":          {"lease.pml", []string{"TOKENS=1", "FAILOVERS=1"}},
		"P5, every waiter is served at last": {"lease.pml", []string{"LIVE=1"}},
		"P1 P6 of redlock, a node restarts":  {"redlock.pml", nil},
		"P1 P5 P6 P7 of sessions":            {"session.pml", nil},
		"P2 of sessions, and a slow clock":   {"session.pml", []string{"CLOCKS=1"}},
		"P2 of sessions, and a new leader":   {"session.pml", []string{"CLOCKS=1", "DEPOSED=1"}},
		"P3 P4 of sessions":                  {"session.pml", []string{"TOKENS=1"}},
		"P1 P5 of the line":                  {"line.pml", nil},
		"P1 P5 of the line, more visits":     {"line.pml", []string{"LONG=1"}},
		"P1 P5 of the line, and readers":     {"line.pml", []string{"SHARED=1"}},
		"P1 of the line, crashes, losses":    {"line.pml", []string{"FAULTS=1"}},
		"P1 of the line, and readers crash":  {"line.pml", []string{"FAULTS=1", "SHARED=1", "N=2", "V=2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := spin(t, c.file, false, c.defines...)
			t.Logf("every state: %s", v.figures)
			if v.broken != "" {
				t.Errorf("%s breaks:\n\t%s", v.broken, v.history)
			}
		})
	}
}

// TestNotPromised has the counterexamples outside the conditions of the promises.
func TestNotPromised(t *testing.T) {
	need(t, "spin", "gcc")
	for name, c := range map[string]struct {
		file, promise string
		defines       []string
	}{
		"a resource that checks no token":        {"lease.pml", "P4", []string{"TOKENS=1", "OFF=1"}},
		"a failover loses a lock":                {"lease.pml", "P1", []string{"FAILOVERS=1", "STRICT=1"}},
		"a clock that is off by more than 1 %":   {"lease.pml", "P2", []string{"DRIFT=2"}},
		"a failover faster than the last tokens": {"lease.pml", "P3", []string{"TOKENS=1", "FAILOVERS=1", "OFF=4"}},
		"redlock and a slow clock":               {"redlock.pml", "P1", []string{"DRIFT=2"}},
		"a session, and no check of tokens":      {"session.pml", "P4", []string{"TOKENS=1", "OFF=1"}},
		"a session and a slow clock":             {"session.pml", "P2", []string{"CLOCKS=1", "DRIFT=2"}},
		"a store restored from an old backup":    {"session.pml", "P3", []string{"TOKENS=1", "RESTORED=1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustBreak(t, c.file, c.promise, c.defines...)
		})
	}
}

func mustBreak(t *testing.T, file, promise string, defines ...string) {
	t.Helper()
	v := spin(t, file, true, defines...)
	if v.broken != promise {
		t.Fatalf("%q breaks, want %s: %s", v.broken, promise, v.figures)
	}
	t.Logf("%s breaks (%s):\n\t%s", v.broken, v.figures, v.history)
}

// guard is a line of a model such as: #define Margin (OFF != 7) /* P2 TOKENS: why */.
var guard = regexp.MustCompile(`(?m)^#define (\w+) +\(OFF != (\d+)\) +/\* (P\d)([A-Z ]*): (.*) \*/$`)

// TestGuards leaves out each guard of the protocol, and sees the promise break that it is for.
func TestGuards(t *testing.T) {
	need(t, "spin", "gcc")
	for _, file := range []string{"lease.pml", "redlock.pml", "session.pml", "line.pml"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		guards := guard.FindAllStringSubmatch(string(source), -1)
		if n := strings.Count(string(source), "(OFF != "); len(guards) != n || n == 0 {
			t.Fatalf("%s: %d of %d guards are understood", file, len(guards), n)
		}
		for _, g := range guards {
			t.Run(file+"/"+g[1], func(t *testing.T) {
				t.Parallel()
				defines := []string{"OFF=" + g[2]}
				for _, word := range strings.Fields(g[4]) {
					defines = append(defines, word+"=1")
				}
				t.Logf("without the rule: %s", g[5])
				mustBreak(t, file, g[3], defines...)
			})
		}
	}
}
