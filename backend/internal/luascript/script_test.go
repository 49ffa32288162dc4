package luascript_test

import (
	"crypto/sha1"
	"embed"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/distlock-go/distlock/backend/internal/luascript"
)

//go:embed testdata
var testdata embed.FS

func TestLoad(t *testing.T) {
	golden, err := testdata.ReadFile("testdata/command.golden")
	if err != nil {
		t.Fatal(err)
	}
	s := luascript.Load(testdata, "testdata/command.lua", luascript.Constants{
		"WINDOW": 60000, "SUFFIX": ":end", "UNUSED": 1, "WIN": 2,
	})
	if s.Source() != string(golden) {
		t.Errorf("the script is\n%s\nwant\n%s", s.Source(), golden)
	}
	if want := fmt.Sprintf("%x", sha1.Sum(golden)); s.Hash() != want {
		t.Errorf("the hash is %s, want %s", s.Hash(), want)
	}
	if all := luascript.Loaded(); all[len(all)-1] != s {
		t.Error("the script is not in the list for the linter")
	}
}

func TestLoadPanics(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
	}{
		"unknown file":         {`--- @include "no.lua"`, "main.lua:1: open no.lua: file does not exist"},
		"misspelled directive": {"\n  -- @includes 'x.lua'", "main.lua:2: -- @includes 'x.lua' is neither"},
		"comment in brackets":  {"--[[ one\ntwo ]]", "main.lua:1: a long bracket"},
		"string in brackets":   {"return [==[ one\n-- two ]==]", "main.lua:1: a long bracket"},
		"constant too early":   {"return LIMIT\n--- @constants", "main.lua: LIMIT is used, but not below a line"},
		"no line of constants": {"return LIMIT", "main.lua: LIMIT is used, but not below a line"},
		"two of them":          {"--- @constants\n--- @constants", "main.lua: the line of the constants is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := fstest.MapFS{
				"main.lua": {Data: []byte(c.text)},
			}
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "luascript: "+c.want) {
					t.Errorf("the panic says %q, want %q", got, c.want)
				}
			}()
			luascript.Load(fsys, "main.lua", luascript.Constants{"LIMIT": 1})
		})
	}
}
