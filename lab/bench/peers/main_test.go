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
			if !slices.ContainsFunc(strings.Split(stdout.String(), "\n"), func(line string) bool {
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
