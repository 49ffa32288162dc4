package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/test/testmode"
)

// realEnv is an environment variable. If it is 1, tests fail instead of being skipped
// when redis-server or ZooKeeper is missing.
const realEnv = "DISTLOCK_TEST_REAL"

func TestMain(m *testing.M) {
	makers["none"], makers["leaver"] = newNone, newLeaver
	if os.Getenv(childEnv) != "" {
		os.Exit(child(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// nonePeer does not lock. A register must notice that.
type nonePeer struct{}

func newNone(string) (Peer, error) { return nonePeer{}, nil }

func (nonePeer) Lock(ctx context.Context, _ string) (Held, error) {
	return Held{Unlock: func(context.Context) error { return nil }, Token: 1}, ctx.Err()
}

func (nonePeer) Close() error { return nil }

// server starts a Redis for a test and returns its URL.
func server(t *testing.T) string {
	t.Helper()
	_, err := exec.LookPath(serverBinary)
	need(t, serverBinary, err)
	testmode.InRealTime(t)
	url, stop, err := startServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// need skips a test if a server is not installed.
func need(t *testing.T, server string, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv(realEnv) == "1":
		t.Fatalf("%s=1, but there is no %s: %v", realEnv, server, err)
	default:
		t.Skipf(testmode.LeftOut+"it needs %s: %v", server, err)
	}
}

func errorOf(_ string, err error) error { return err }

// TestEveryScenario runs every scenario and every peer briefly, and checks the tables
// and the files.
func TestEveryScenario(t *testing.T) {
	testmode.Long(t)
	url := server(t)
	needZooKeeper(t)
	need(t, "postgres", errorOf(postgreSQLProgram("postgres")))
	need(t, "etcd", errorOf(exec.LookPath("etcd")))
	need(t, "mvn", errorOf(exec.LookPath("mvn")))
	dir := t.TempDir()
	js, svg := filepath.Join(dir, "peers.json"), filepath.Join(dir, "utilisation.svg")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{
		"-redis", url, "-short", "-slice", "100ms", "-patience", "2s", "-json", js, "-svg", svg,
	}, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr.String())
	}
	t.Log(stdout.String())

	text, err := os.ReadFile(js)
	if err != nil {
		t.Fatal(err)
	}
	var got jsonReport
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Machine.CPUs == 0 || got.Machine.Go == "" || got.Machine.Redis == "" || got.Machine.ZooKeeper == "" ||
		got.Machine.PostgreSQL == "" || got.Machine.Etcd == "" || got.Machine.Java == "" {
		t.Errorf("machine %+v", got.Machine)
	}
	var ids []string
	for _, v := range got.Scenarios {
		ids = append(ids, v.ID)
		if !strings.Contains(stdout.String(), v.What) {
			t.Errorf("the table lacks %q", v.What)
		}
	}
	want := []string{
		"F1", "F2", "F2.cpu", "F3", "F3.limit", "F4", "F4.wait", "F4.order",
		"F5", "F5.share", "F5.register", "F6", "F7.2", "F7.8", "F7.64", "F8.64", "F14.own", "F14.one",
		"F16", "F16.memory", "F16.replica",
		"F17.alone", "F17.alone.memory", "F17.own", "F17.own.memory", "F17.one", "F17.one.memory", "F18.alone", "F18.own", "F18.one",
		"F19.alone", "F19.alone.shared", "F19.own", "F19.own.shared", "F19.one", "F19.one.shared", "F19.procs", "F19.procs.shared",
		"F20.alone", "F20.own", "F20.one", "F20.procs",
	}
	if !slices.Equal(ids, want) {
		t.Errorf("goals %v instead of %v", ids, want)
	}
	for _, s := range scenarios(true) {
		for _, name := range s.field {
			i := slices.IndexFunc(got.Figures, func(f jsonFigure) bool { return f.Scenario == s.id && f.Peer == name })
			if i < 0 {
				t.Errorf("%s: nothing about %s", s.id, name)
				continue
			}
			f := got.Figures[i]
			if name == ours && (!f.Finished || f.Locks == 0 || f.Problems != "" || f.Violations != nil && *f.Violations != 0) {
				t.Errorf("%s: %+v", s.id, f)
			}
			if isJava(name) && f.Locks == 0 && strings.HasSuffix(s.id, ".alone") {
				t.Errorf("%s: %s did nothing: %s", s.id, name, f.Problems)
			}
			if f.Locks == 0 {
				t.Logf("%s: %s did nothing: %s", s.id, name, f.Problems)
			}
		}
	}
	if b, err := os.ReadFile(svg); err != nil || !bytes.Contains(b, []byte("<svg")) {
		t.Errorf("%v in %q", err, b)
	}
}

// Without a server, and without one to start, there is an error.
func TestNoServer(t *testing.T) {
	t.Setenv("PATH", "")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-short"}, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "there is no redis-server to start") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
	stderr.Reset()
	if code := run(t.Context(), []string{"-redis", "redis://127.0.0.1:1"}, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "does not answer") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}
