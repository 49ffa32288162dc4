package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// needZooKeeper skips a test if ZooKeeper is not installed.
func needZooKeeper(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("java")
	if err == nil {
		_, err = os.Stat(zooKeeperJar)
	}
	need(t, "ZooKeeper", err)
}

func TestVersionIn(t *testing.T) {
	for answer, want := range map[string]string{
		"Zookeeper version: 3.8.0-5a02a05, built on 2022-02-25 08:49 UTC\nLatency": "3.8.0",
		"Zookeeper version: 3.9.2":                                    "3.9.2",
		"This ZooKeeper instance is not currently serving requests\n": "",
		"": "",
	} {
		if got := versionIn(answer); got != want {
			t.Errorf("%q: %q, want %q", answer, got, want)
		}
	}
}

// go-zookeeper's lock has no contexts. The peer has them, and leaves no node behind.
func TestGoZooKeeperGivesUp(t *testing.T) {
	needZooKeeper(t)
	url, stop, err := startZooKeeper(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p, err := newGoZooKeeper(url)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	held, err := p.Lock(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := p.Lock(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if held, err = p.Lock(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// Without a ZooKeeper the other scenarios are measured. It is an error if there are
// none.
func TestZooKeeperIsLeftOut(t *testing.T) {
	url := server(t)
	t.Setenv("PATH", "")
	var stdout, stderr strings.Builder
	js := filepath.Join(t.TempDir(), "peers.json")
	args := []string{"-redis", url, "-short", "-slice", "20ms", "-peers", "bare", "-json", js, "-only", "F2,F14"}
	if code := run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d, %s", code, stderr.String())
	}
	if !strings.Contains(stderr.String(), "F14 is left out: it needs java") || strings.Contains(stdout.String(), "F14") ||
		!strings.Contains(stdout.String(), "F2 ") {
		t.Errorf("%s\n%s", stderr.String(), stdout.String())
	}

	stderr.Reset()
	if code := run(t.Context(), []string{"-short", "-only", "F14"}, io.Discard, &stderr); code != 1 ||
		!strings.HasPrefix(stderr.String(), "peers: F14: it needs java") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
