package main

import (
	"path/filepath"
	"testing"

	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

func TestWrapOnServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (backend string){
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
				got := runArgs(t.Context(), "-backend", backend, "-keys", keys,
					"-users", "20", "-loops", "3", "-ramp-up", "10ms", "-think", "1ms", "-hold", "1ms")
				got.wantCode(t, 0)
				wantContains(t, got.stdout, ", keys "+keys+", backend "+backendurl.Name(backend)+"\n\nLabel ")
				wantContains(t, got.stdout, "\nwrap lock: 60 of 60 increments\n")
				wantContains(t, got.stdout, "\nwrap no lock: ")
			}
		})
	}
}
