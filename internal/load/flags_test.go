package load

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestBadFlags(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none", "out")
	for args, want := range map[string]string{
		"-users 0":                   `-users "0": want at least 1`,
		"-users many":                `invalid value "many" for flag -users: parse error`,
		"-loops 0":                   `-loops "0": want at least 1`,
		"-users 1000000 -loops 3000": `-loops "3000": with 1000000 users that is more than 2147483647 samples, the most that a counter holds`,
		"-keys 0":                    `-keys "0": want at least 1`,
		"-ramp-up -1s":               `-ramp-up "-1s": is negative`,
		"-think -1ms":                `-think "-1ms": is negative`,
		"-hold -1ms":                 `-hold "-1ms": is negative`,
		"-hold -2ms..1ms":            `-hold "-2ms..1ms": is negative`,
		"-hold 3s..1s":               `-hold "3s..1s": want the shorter time first`,
		"-hold 2":                    `invalid value "2" for flag -hold: want a time such as 2s, or two such as 500ms..3500ms: time: missing unit in duration "2"`,
		"-hold 1s..":                 `invalid value "1s.." for flag -hold: want a time after the two dots, such as 500ms..3500ms: time: invalid duration ""`,
		"-plan http -target http://x -hold 1ms..2ms": `-hold "1ms..2ms": -plan http leaves that to the service`,
		"-lockers -1":                            `-lockers "-1": is negative`,
		"-lockers 5 -users 4":                    `-users "4": -lockers 5 has one user for each locker`,
		"-lockers 5 -lock both":                  `-lock "both": -lockers needs the lock: nobody leads without it`,
		"-lockers 5 -keys 2":                     `-keys "2": -lockers elects one leader, with one key`,
		"-lockers 5 -plan http -target http://x": `-lockers "5": -plan http leaves the lock to the service`,
		"-plan ftp":                              `-plan "ftp": want wrap, http or grpc`,
		"-lock maybe":                            `-lock "maybe": want on, off or both`,
		"-user 1":                                `flag provided but not defined: -user`,
		"wrap":                                   `unexpected argument "wrap"`,
		"-target http://x":                       `-target "http://x": -plan wrap has no target: its lock is where -backend says`,
		"-plan http":                             `-target "": want the URL of the service, such as http://127.0.0.1:8080`,
		"-plan http -target ftp://x":             `-target "ftp://x": want the URL of the service, such as http://127.0.0.1:8080`,
		"-plan http -target http://x/?a=b":       `-target "http://x/?a=b": want the URL of the service, such as http://127.0.0.1:8080`,
		"-plan grpc":                             `-target "": want host:port of the service, such as 127.0.0.1:9090`,
		"-plan grpc -target http://x:1":          `-target "http://x:1": want host:port of the service, such as 127.0.0.1:9090`,
		"-plan grpc -target localhost":           `-target "localhost": want host:port of the service, such as 127.0.0.1:9090`,
		"-plan http -target http://x -hold 1ms":  `-hold "1ms": -plan http leaves that to the service`,
		"-plan grpc -target x:1 -backend redis://u:secret@x": `-backend: -plan grpc leaves that to the service`,
		"-backend carrier-pigeon":                            "backend \"…\": invalid backend: want embedded or redis://[user:password@]host:port/db",
		"-backend redis -lock off":                           "backend \"…\": invalid backend: want embedded or redis://[user:password@]host:port/db",
		"-jtl " + missing:                                    "-jtl: open " + missing + ": no such file or directory",
	} {
		got := runArgs(t.Context(), strings.Fields(args)...)
		if want = "bench: " + want; got.code != 2 || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", args, got.code, got.stderr, want)
		}
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	got := runArgs(t.Context(), "-h")
	got.wantCode(t, 0)
	for _, name := range []string{"plan", "users", "loops", "ramp-up", "think", "hold", "keys", "lockers", "lock", "backend", "target", "jtl"} {
		wantContains(t, got.stdout, "\n  -"+name+" ")
	}
	if got.stderr != "" {
		t.Errorf("stderr %q", got.stderr)
	}
}

// The line above the table must not show passwords.
func TestSummaryHidesPassword(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "-backend", "redis://user:secret@host:6379/0?x=secret").summary()
	if !strings.HasSuffix(s, ", backend redis://host:6379/0") {
		t.Error(s)
	}
}
