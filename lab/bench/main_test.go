package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/load"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(sqltest.Main{M: m}) }

// ends checks that the command ends without an error, and that it prints both texts.
func ends(t *testing.T, one, other string, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := load.Run(t.Context(), stores, args, &stdout, &stderr)
	if out := stdout.String(); code != 0 || !strings.Contains(out, one) || !strings.Contains(out, other) {
		t.Errorf("exit code %d, stderr %q, want 0, %q and %q in\n%s", code, &stderr, one, other, out)
	}
}

func TestWrapOnServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (backend string){
		"embedded":   func(*testing.T) string { return "embedded" },
		"ZooKeeper":  func(t *testing.T) string { return "zk://" + zktest.Start(t, zktest.Config{}).Addr() + "/bench" },
		"PostgreSQL": func(t *testing.T) string { return sqltest.Postgres.NewDatabase(t) },
		"MariaDB":    func(t *testing.T) string { return sqltest.MariaDB.NewDatabase(t) },
		"SQLite": func(t *testing.T) string {
			testmode.InRealTime(t)
			return "sqlite:" + filepath.Join(t.TempDir(), "bench.db")
		},
		"etcd": func(t *testing.T) string { return "etcd://" + etcdtest.Start(t).Addr() + "/bench" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backend := start(t)
			for _, keys := range []string{"1", "7"} {
				ends(t, ", keys "+keys+", backend "+backendurl.Name(backend)+"\n\nLabel ", "\nwrap lock: 60 of 60 increments\n",
					"-backend", backend, "-keys", keys, "-lock", "on",
					"-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms")
			}
			ends(t, ": now I lead for ", "\nwrap lock: 5 of 5 increments\n", "-backend", backend, "-lockers", "5", "-hold", "1ms..20ms")
		})
	}
}
