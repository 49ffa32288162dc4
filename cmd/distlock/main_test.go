package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// raceExit keeps the race detector from waiting for a second at the end of each
// process.
const raceExit = "GORACE=atexit_sleep_ms=0"

// TestMain makes this program available to scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"distlock": main})
}

// TestScripts runs each script with its own store.
func TestScripts(t *testing.T) {
	testmode.InRealTime(t)
	if runtime.GOOS == "windows" {
		t.Skip("the scripts need a POSIX shell")
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"await": await,
		},
		Setup: func(env *testscript.Env) error {
			server, err := miniredis.Run()
			if err != nil {
				return err
			}
			env.Defer(server.Close)
			server.ClockTTL(true)
			env.Setenv(backendEnv, "redis://"+server.Addr())
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
	for start := time.Now(); time.Since(start) < testkit.Patience; {
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
