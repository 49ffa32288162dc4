package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distlock-go/distlock/internal/child"
	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testmode"
)

func TestStartErrors(t *testing.T) {
	testmode.Long(t)
	testmode.InRealTime(t)
	t.Parallel() // most of its time is waiting
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	notADB := filepath.Join(t.TempDir(), "shop.db")
	if err := os.WriteFile(notADB, bytes.Repeat([]byte("not a database"), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := child.ClosedAddr(t)
	server := sqltest.Postgres.Shared(t)
	name := server.NewDatabase(t)
	missing := server.URL("none")
	server.Exec(t, name, "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'secret'")
	noTables := strings.Replace(server.URL(name), "postgres@", "reader:secret@", 1)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-colour", "red"}, exitUsage, "-colour"},
		{[]string{"-think"}, exitUsage, "-think"},
		{[]string{"-think", "fast"}, exitUsage, "-think"},
		{[]string{"-think", "-1s"}, exitUsage, "-think"},
		{[]string{"-think", "2h"}, exitUsage, "-think"},
		{[]string{"-wait", "0"}, exitUsage, "-wait"},
		{[]string{"-wait", "1µs"}, exitUsage, "-wait"},
		{[]string{"-v", "sell", "everything"}, exitUsage, `"sell"`},
		{[]string{"-backend", "memcached://127.0.0.1"}, exitUsage, "want one of embedded, redis://"},
		{[]string{"-backend", ""}, exitUsage, "want one of embedded, redis://"},
		{[]string{"-backend", "redis://127.0.0.1/zero"}, exitUsage, `"zero"`},
		{[]string{"-backend", "redis://u:secret@" + gone + "/0"}, exitError, "refused"},
		{[]string{"-backend", "zk://u:secret@127.0.0.1:port/shop"}, exitUsage, "invalid port"},
		{[]string{"-backend", "zk://u:secret@" + gone + "/shop"}, exitError, "refused"},
		{[]string{"-http", taken.Addr().String()}, exitError, "-http: listen tcp " + taken.Addr().String()},
		{[]string{"-grpc", taken.Addr().String()}, exitError, "-grpc: listen tcp " + taken.Addr().String()},
		{[]string{"-http", "8080"}, exitError, "-http: listen tcp: address 8080"},
		{[]string{"-db", filepath.Join(t.TempDir(), "none", "shop.db")}, exitError, "-db: "},
		{[]string{"-db", notADB}, exitError, "-db: "},
		{[]string{"-db", "mysql://u:secret@127.0.0.1/shop"}, exitUsage, `-db: want postgres://[user:password@]host:port/db or a file, got "mysql://127.0.0.1/shop"`},
		{[]string{"-db", "postgres://u:secret@127.0.0.1:port/shop"}, exitUsage, `-db: "postgres://127.0.0.1:port/shop": invalid port`},
		{[]string{"-db", "postgres://u:secr et@127.0.0.1/shop"}, exitUsage, `-db: "postgres://127.0.0.1/shop": `},
		{[]string{"-db", "postgres://u:secret@" + gone + "/shop"}, exitError, `-db: "postgres://` + gone + `/shop": `},
		{[]string{"-db", missing}, exitError, `database "none" does not exist`},
		{[]string{"-db", noTables}, exitError, "permission denied for schema public"},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0"}, c.args...)
		code := run(t.Context(), args, &stdout, &stderr)
		if code != c.code {
			t.Errorf("%q: exit %d, want %d", c.args, code, c.code)
		}
		line := stderr.String()
		if !strings.Contains(line, c.want) || strings.Contains(line, "secret") {
			t.Errorf("%q: %s does not say %q", c.args, line, c.want)
		}
		if strings.Count(line, "\n") != 1 || !strings.HasPrefix(line, "example_service: ") || stdout.Len() > 0 {
			t.Errorf("%q: want one line on stderr, got %q and %q", c.args, line, stdout.String())
		}
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"-help"}, &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
	for _, flag := range []string{"-http", "-grpc", "-backend", "-db", "-think", "-wait"} {
		if !strings.Contains(stdout.String(), "  "+flag) {
			t.Errorf("%s is not explained", flag)
		}
	}
}
