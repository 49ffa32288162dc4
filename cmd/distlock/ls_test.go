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
{"key":"mine","mode":"exclusive","held":1,"waiting":2,"holders":[{"holder":"web-3/1432","owner":"0123456789ab","token":7,"expires_in_ms":1200}]},
{"key":"nameless","mode":"exclusive","held":1,"waiting":0,"holders":[{"owner":"0123456789ab"}]},
{"key":"redisson","mode":"foreign","foreign":"hash","held":1,"waiting":0,"holders":[{"expires_in_ms":30000}]}
]
`
	all := regexp.MustCompile(`\s+`)
	if got := all.ReplaceAllString(out.String(), ""); got != all.ReplaceAllString(want, "") {
		t.Errorf("got %s", got)
	}
}
