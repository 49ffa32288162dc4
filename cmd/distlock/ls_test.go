package main

import (
	"io"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// rare has kinds of locks that the scripts do not create.
var rare = []driver.KeyInfo{
	{Key: "mine", Held: 1, Waiting: 20, Waiters: []driver.WaiterInfo{
		{Owner: "0123456789ab"}, {Waiter: "web 3", Mode: driver.Shared}, {Waiter: "web-4/7", Owner: "ba9876543210", Permits: 3, Since: time.Unix(0, 0).UTC()},
	}, Holders: []driver.HolderInfo{{Holder: "web-3/1432", Owner: "0123456789ab", Token: 1020, LastToken: 2043, ExpiresIn: 1200 * time.Millisecond}}},
	{Key: "nameless", Held: 2, Waiting: 1, Waiters: []driver.WaiterInfo{{}}, Holders: []driver.HolderInfo{{Owner: "0123456789ab", Token: 5, LastToken: 5}, {Owner: "ba9876543210", Token: 1795880157100574, LastToken: 1795880157101597, ExpiresIn: -time.Second}}},
	{Key: "redisson", Foreign: "hash", Held: 1, Holders: []driver.HolderInfo{{ExpiresIn: 30 * time.Second}}},
	{Key: "waited for", Waiting: 1},
	{Key: "zk", Held: 1, Holders: []driver.HolderInfo{{Holder: "\x1b[2J host", Owner: "0123456789ab"}}},
}

// The waiters are below the last holder of their key. A name cannot break a line.
func TestTableOfRareLocks(t *testing.T) {
	var out strings.Builder
	if err := writeTable(&out, rare); err != nil {
		t.Fatal(err)
	}
	want := `
KEY MODE HELD WAITING IN STORE HOLDER OWNER TOKEN SINCE LEFT
mine exclusive 1 20 web-3/1432 0123456789ab 1020…2043 - 1.2s
 waiter 1: 0123456789ab
 waiter 2: "web 3" (shared)
 waiter 3: web-4/7 (one of 3 permits) since ` + time.Unix(0, 0).Format(time.TimeOnly) + `
 and 17 more
nameless exclusive 2 1 - 0123456789ab 5 - -
nameless exclusive 2 1 - ba9876543210 1795880157100574…1597 - -
 waiter 1: -
redisson foreign:hash 1 0 - - - - 30s
"waited for" exclusive 0 1 - - - - -
zk exclusive 1 0 "\x1b[2J host" 0123456789ab - - -
`
	if got := regexp.MustCompile(` +`).ReplaceAllString(out.String(), " "); got != want[1:] {
		t.Errorf("got\n%s", got)
	}
}

func TestJSONOfRareLocks(t *testing.T) {
	var out strings.Builder
	if err := writeJSON(&out, rare[:3]); err != nil {
		t.Fatal(err)
	}
	const want = `[
{"key":"mine","mode":"exclusive","held":1,"waiting":20,"holders":[{"holder":"web-3/1432","owner":"0123456789ab","token":1020,"last_token":2043,"expires_in_ms":1200}],"waiters":[
  {"owner":"0123456789ab","mode":"exclusive"},
  {"waiter":"web 3","mode":"shared"},
  {"waiter":"web-4/7","owner":"ba9876543210","mode":"permits","permits":3,"since":"1970-01-01T00:00:00Z"}]},
{"key":"nameless","mode":"exclusive","held":2,"waiting":1,"holders":[{"owner":"0123456789ab","token":5,"last_token":5},{"owner":"ba9876543210","token":1795880157100574,"last_token":1795880157101597}],"waiters":[{"mode":"exclusive"}]},
{"key":"redisson","mode":"foreign","foreign":"hash","held":1,"waiting":0,"holders":[{"expires_in_ms":30000}],"waiters":[]}
]
`
	all := regexp.MustCompile(`\s+`)
	if got := all.ReplaceAllString(out.String(), ""); got != all.ReplaceAllString(want, "") {
		t.Errorf("got %s", got)
	}
}

// A command that has ended has closed the store, whether or not it could be opened.
func TestStoreIsClosed(t *testing.T) {
	for file, code := range map[string]int{"x.db": exitOK, "missing/x.db": exitUnavailable} {
		t.Setenv(backendEnv, "sqlite:"+filepath.Join(t.TempDir(), file))
		if got := execute(t.Context(), []string{"distlock", "ls"}, io.Discard, io.Discard); got != code {
			t.Errorf("%s: exit code %d", file, got)
		}
		testkit.Eventually(t, "the database is closed", func() bool {
			stacks := make([]byte, 1<<20)
			return !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "database/sql.(*DB)")
		})
	}
}
