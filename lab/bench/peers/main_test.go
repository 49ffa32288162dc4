package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

func TestMain(m *testing.M) {
	peers["none"] = func(task) (lockFunc, error) {
		return func(ctx context.Context, _ string) (unlockFunc, error) {
			return func(context.Context) error { return nil }, ctx.Err()
		}, nil
	}
	if text, ok := os.LookupEnv(childEnv); ok {
		child(text, os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// TestEveryScenario runs every scenario and every peer briefly, and checks the tables.
func TestEveryScenario(t *testing.T) {
	testmode.Long(t)
	testmode.InRealTime(t)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-rounds", "2", "-slice", "100ms"}, &stdout, &stderr)
	t.Log(stderr.String(), stdout.String())
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	for _, s := range allScenarios() {
		if strings.Contains(stderr.String(), s.id+" is left out") && os.Getenv("DISTLOCK_TEST_REAL") != "1" {
			continue
		}
		for _, g := range s.goals {
			if !strings.Contains(stdout.String(), "\n"+s.id+g.suffix+" ") {
				t.Errorf("nothing about %s%s", s.id, g.suffix)
			}
		}
		for _, name := range s.field {
			if !s.bulk && !slices.ContainsFunc(strings.Split(stdout.String(), "\n"), func(line string) bool {
				words := strings.Fields(line)
				return len(words) > 2 && words[0] == s.id && words[1] == name && words[2] != "0"
			}) {
				t.Errorf("%s: %s did nothing", s.id, name)
			}
		}
	}
}

// A peer that does not lock is detected.
func TestNoneHasTwoHolders(t *testing.T) {
	testmode.InRealTime(t)
	b := &bench{cfg: &config{rounds: 1, slice: time.Second}, servers: new(servers), progress: io.Discard}
	s := &scenario{id: "none", goroutines: 8, procs: 1, store: inZooKeeper, field: []string{"none"}}
	if err := b.measure(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if f := b.figures[0]; !slices.Contains(f.problems, errTwoHolders.Error()) {
		t.Errorf("%q in %d rounds", f.problems, len(f.rounds))
	}
	if err := b.failed(); err != nil {
		t.Errorf("another peer's violation is ours: %v", err)
	}
	b.figures[0].peer = ours
	if err := b.failed(); err == nil {
		t.Error("a violation of ours is no failure")
	}
}

func TestFlags(t *testing.T) {
	c, err := parseFlags([]string{"-only", "F4,F14"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range c.scenarios {
		got = append(got, s.id)
	}
	if want := []string{"F4", "F14.own", "F14.one"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for arg, want := range map[string]string{
		"-only F99":  `there is no goal F99`,
		"-rounds 0":  "-rounds 0 -slice 1s: want more than 0 of each",
		"-slice -1s": "-rounds 5 -slice -1s: want more than 0 of each",
		"now":        `unexpected argument "now"`,
	} {
		var stderr strings.Builder
		if code := run(t.Context(), strings.Fields(arg), io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", arg, code, stderr.String())
		}
	}
}

// Without a server there is an error.
func TestMissingServers(t *testing.T) {
	t.Setenv("PATH", "")
	var stderr strings.Builder
	code := run(t.Context(), []string{"-only", "F1,F14"}, io.Discard, &stderr)
	for _, want := range []string{"F1 is left out: needs a redis-server", "F14.one is left out: ", "no scenario can be measured"} {
		if code != 1 || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit code %d, %q, want %q", code, stderr.String(), want)
		}
	}
}
