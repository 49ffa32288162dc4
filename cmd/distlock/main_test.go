package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// raceExit keeps the race detector from waiting for a second at the end of each
// process.
const raceExit = "GORACE=atexit_sleep_ms=0"

// TestMain makes this program available to scripts.
func TestMain(m *testing.M) {
	testkit.BeChild(handOffRoles)
	testscript.Main(m, map[string]func(){"distlock": main})
}

// TestScripts runs each script with its own store. Scripts that depend on the length of a lease
// or of a wait are skipped under go test -short.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts need a POSIX shell")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"await":    await,
			"hang":     hang,
			"outlives": outlives,
		},
		Condition: func(name string) (bool, error) { return name == "long" && testmode.Full(), nil },
		Setup: func(env *testscript.Env) error {
			m, err := miniredis.Run()
			if err != nil {
				return err
			}
			m.ClockTTL(true)
			s := &store{Miniredis: m, resume: func() {}}
			env.Defer(func() { s.resume(); m.Close() })
			env.Values[backendEnv] = s
			env.Setenv(backendEnv, "redis://"+m.Addr())
			env.Vars = append(env.Vars, raceExit)
			return nil
		},
	})
}

// exits runs a program and checks its exit code: exits 64 distlock run.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits code program [arguments]")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

// await runs a program repeatedly until its output contains the text: await text
// program [arguments]. With one argument it waits for a file.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for start := time.Now(); time.Since(start) < child.Patience; {
		if len(args) == 1 {
			if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
				return
			}
			<-time.After(5 * time.Millisecond)
			continue
		}
		if err := ts.Exec(args[1], args[2:]...); err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
	}
	ts.Fatalf("in vain for %q", args)
}

// store is the store of a script.
type store struct {
	*miniredis.Miniredis

	resume   func()    // ends hang
	leaseEnd time.Time // of the key that hang names
}

// hang makes the store take requests and answer none: hang key. The opposite is ! hang.
func hang(ts *testscript.TestScript, neg bool, args []string) {
	s, _ := ts.Value(backendEnv).(*store)
	if s.resume(); neg {
		return
	}
	answers := make(chan struct{})
	s.resume = sync.OnceFunc(func() { close(answers) })
	s.Server().SetPreHook(func(*server.Peer, string, ...string) bool { <-answers; return false })
	s.leaseEnd = time.Now().Add(s.TTL(args[0]))
}

// outlives waits until a file is written after the end of the lease: outlives file. The
// opposite fails if it was.
func outlives(ts *testscript.TestScript, neg bool, args []string) {
	s, _ := ts.Value(backendEnv).(*store)
	late := func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		ts.Check(err)
		return info.ModTime().After(s.leaseEnd)
	}
	if neg && late() || !neg && !child.Within(child.Patience, late) {
		ts.Fatalf("%s is written after the end of the lease: %v", args[0], neg)
	}
}
