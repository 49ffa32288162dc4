package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// rare has kinds of locks that the scripts do not create.
var rare = []driver.KeyInfo{
	{Key: "mine", Held: 1, Waiting: 2, Holders: []driver.HolderInfo{{Holder: "web-3/1432", Owner: "0123456789ab", Token: 7, ExpiresIn: 1200 * time.Millisecond}}},
	{Key: "nameless", Held: 1, Holders: []driver.HolderInfo{{Owner: "0123456789ab"}}},
	{Key: "redisson", Foreign: "hash", Held: 1, Holders: []driver.HolderInfo{{ExpiresIn: 30 * time.Second}}},
	{Key: "waited for", Waiting: 1},
	{Key: "zk", Held: 1, Holders: []driver.HolderInfo{{Holder: "\x1b[2J host", Owner: "0123456789ab"}}},
}

func TestTableOfRareLocks(t *testing.T) {
	var out strings.Builder
	if err := writeTable(&out, rare); err != nil {
		t.Fatal(err)
	}
	const want = `
KEY MODE HELD WAITING HOLDER OWNER TOKEN SINCE LEFT
mine exclusive 1 2 web-3/1432 0123456789ab 7 - 1.2s
nameless exclusive 1 0 - 0123456789ab - - -
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
{"key":"mine","mode":"exclusive","held":1,"waiting":2,"holders":[{"holder":"web-3/1432","owner":"0123456789ab","token":7,"expires_in_ms":1200}],"waiters":[]},
{"key":"nameless","mode":"exclusive","held":1,"waiting":0,"holders":[{"owner":"0123456789ab"}],"waiters":[]},
{"key":"redisson","mode":"foreign","foreign":"hash","held":1,"waiting":0,"holders":[{"expires_in_ms":30000}],"waiters":[]}
]
`
	all := regexp.MustCompile(`\s+`)
	if got := all.ReplaceAllString(out.String(), ""); got != all.ReplaceAllString(want, "") {
		t.Errorf("got %s", got)
	}
}

// The waiters are below their key, in lines that fit a terminal. A name cannot break a line.
func TestTableOfWaiters(t *testing.T) {
	since := time.Date(2026, 11, 22, 10, 12, 27, 0, time.Local)
	one := driver.KeyInfo{
		Key: "one", Held: 2, Mode: driver.Shared, Waiting: 3,
		Holders: []driver.HolderInfo{{Holder: "web-1/7"}, {Holder: "web-2/7"}},
		Waiters: []driver.WaiterInfo{{Owner: "0123456789ab"}, {Waiter: "web 3", Mode: driver.Shared}, {Waiter: "web-4/7", Permits: 3, Since: since}},
	}
	many := driver.KeyInfo{Key: "two", Waiting: 1000}
	for range driver.MaxWaiterInfos {
		many.Waiters = append(many.Waiters, driver.WaiterInfo{Waiter: "a-host.with.a-long-name.example/4711", Since: since})
	}
	var out strings.Builder
	if err := writeTable(&out, []driver.KeyInfo{one, many, {Key: "three", Held: 1}}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range map[int]string{
		0:  "KEY    MODE       HELD  WAITING  HOLDER   OWNER  TOKEN  SINCE  LEFT",
		1:  "one    shared     2     3        web-1/7  -      -      -      -",
		2:  "one    shared     2     3        web-2/7  -      -      -      -",
		3:  `  waiting: 1. 0123456789ab, 2. "web 3" (shared), 3. web-4/7 (one of 3 permits) since 10:12:27`,
		4:  "two    exclusive  0     1000     -        -      -      -      -",
		5:  "  waiting: 1. a-host.with.a-long-name.example/4711 since 10:12:27,",
		6:  "           2. a-host.with.a-long-name.example/4711 since 10:12:27,",
		20: "           16. a-host.with.a-long-name.example/4711 since 10:12:27, and 984 more",
		21: "three  exclusive  1     0        -        -      -      -      -",
		22: "",
	} {
		if i >= len(lines) || lines[i] != want {
			t.Errorf("line %d is not %q:\n%s", i, want, out.String())
		}
	}
}

func TestJSONOfWaiters(t *testing.T) {
	var out strings.Builder
	err := writeJSON(&out, []driver.KeyInfo{{Key: "a", Waiting: 20, Waiters: []driver.WaiterInfo{
		{Owner: "0123456789ab", Waiter: "web-3/7", Permits: 3, Since: time.Unix(0, 0).UTC()}, {Mode: driver.Shared},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"key":"a","mode":"exclusive","held":0,"waiting":20,"holders":[],"waiters":[` +
		`{"waiter":"web-3/7","owner":"0123456789ab","mode":"permits","permits":3,"since":"1970-01-01T00:00:00Z"},{"mode":"shared"}]}]`
	if got := regexp.MustCompile(`\s+`).ReplaceAllString(out.String(), ""); got != want {
		t.Errorf("got %s", got)
	}
}
