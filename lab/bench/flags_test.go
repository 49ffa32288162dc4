package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBadFlags(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "no such directory", "out")
	forms := "embedded, redis://[user:password@]host:port/db, rediss://[user:password@]host:port/db, " +
		"zk://[user:password@]host:port,host:port/chroot, " +
		"postgres://[user:password@]host:port/db, postgresql://[user:password@]host:port/db, " +
		"mysql://[user:password@]host:port/db, sqlite:path, etcd://[user:password@]host:port,host:port/prefix"
	for name, test := range map[string]struct {
		args []string
		want string // the line on stderr
	}{
		"users":               {[]string{"-users", "0"}, `-users "0": want at least 1`},
		"users negative":      {[]string{"-users", "-3"}, `-users "-3": want at least 1`},
		"users no number":     {[]string{"-users", "many"}, `invalid value "many" for flag -users: parse error`},
		"loops":               {[]string{"-loops", "0"}, `-loops "0": want at least 1`},
		"too many samples":    {[]string{"-users", "1000000", "-loops", "3000"}, `-loops "3000": with 1000000 users that is more than 2147483647 samples, the most that a counter holds`},
		"keys":                {[]string{"-keys", "0"}, `-keys "0": want at least 1`},
		"ramp-up":             {[]string{"-ramp-up", "-1s"}, `-ramp-up "-1s": is negative`},
		"think":               {[]string{"-think", "-1ms"}, `-think "-1ms": is negative`},
		"hold":                {[]string{"-hold", "-1ms"}, `-hold "-1ms": is negative`},
		"duration no unit":    {[]string{"-think", "100"}, `invalid value "100" for flag -think: parse error`},
		"plan":                {[]string{"-plan", "ftp"}, `-plan "ftp": want wrap, http or grpc`},
		"lock":                {[]string{"-lock", "maybe"}, `-lock "maybe": want on, off or both`},
		"unknown flag":        {[]string{"-user", "1"}, `flag provided but not defined: -user`},
		"argument":            {[]string{"wrap"}, `unexpected argument "wrap"`},
		"target for wrap":     {[]string{"-target", "http://x"}, `-target "http://x": -plan wrap has no target: its lock is where -backend says`},
		"http target missing": {[]string{"-plan", "http"}, `-target "": missing: want the URL of the service, such as http://127.0.0.1:8080`},
		"http target scheme":  {[]string{"-plan", "http", "-target", "ftp://x"}, `-target "ftp://x": want the URL of the service, such as http://127.0.0.1:8080`},
		"http target no URL":  {[]string{"-plan", "http", "-target", "127.0.0.1:8080"}, `-target "127.0.0.1:8080": want the URL of the service, such as http://127.0.0.1:8080`},
		"http target query":   {[]string{"-plan", "http", "-target", "http://x/?a=b"}, `-target "http://x/?a=b": want the URL of the service, such as http://127.0.0.1:8080`},
		"grpc target missing": {[]string{"-plan", "grpc"}, `-target "": missing: want host:port of the service, such as 127.0.0.1:9090`},
		"grpc target is URL":  {[]string{"-plan", "grpc", "-target", "http://x:1"}, `-target "http://x:1": want host:port of the service, such as 127.0.0.1:9090`},
		"grpc target no port": {[]string{"-plan", "grpc", "-target", "localhost"}, `-target "localhost": want host:port of the service, such as 127.0.0.1:9090`},
		"hold for http":       {[]string{"-plan", "http", "-target", "http://x", "-hold", "1ms"}, `-hold "1ms": -plan http leaves that to the service`},
		"backend for grpc":    {[]string{"-plan", "grpc", "-target", "x:1", "-backend", "redis://u:secret@x"}, `-backend: -plan grpc leaves that to the service`},
		"backend scheme":      {[]string{"-backend", "carrier-pigeon"}, `backend "…": invalid backend: want one of ` + forms},
		"backend, no lock":    {[]string{"-backend", "redis", "-lock", "off"}, `backend "…": invalid backend: want one of ` + forms},
		"jtl":                 {[]string{"-jtl", missing}, `-jtl "` + missing + `": no such file or directory`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runArgs(t.Context(), test.args...)
			got.wantCode(t, 2)
			if want := "bench: " + test.want + "\n"; got.stderr != want {
				t.Errorf("stderr %q, want %q", got.stderr, want)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	got := runArgs(t.Context(), "-h")
	got.wantCode(t, 0)
	for _, name := range []string{"plan", "users", "loops", "ramp-up", "think", "hold", "keys", "lock", "backend", "target", "jtl"} {
		wantContains(t, got.stdout, "\n  -"+name+" ")
	}
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

// The line above the table must not show passwords.
func TestSummaryHidesPassword(t *testing.T) {
	t.Parallel()
	for backend, want := range map[string]string{
		"redis://user:secret@host:6379/0?x=secret":    "redis://host:6379/0",
		"zk://user:secret@host:2181,host:2182/bench":  "zk://host:2181,host:2182/bench",
		"zk://host:2181/bench?session_timeout=secret": "zk://host:2181/bench",
		"postgres://user:secret@host/db?x=secret":     "postgres://host/db",
		"sqlite:bench.db": "sqlite:bench.db",
		"embedded":        "embedded",
	} {
		s := mustParse(t, "-backend", backend).summary()
		if strings.Contains(s, "secret") || !strings.HasSuffix(s, ", backend "+want) {
			t.Errorf("%s: %s", backend, s)
		}
	}
}
