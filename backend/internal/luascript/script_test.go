package luascript_test

import (
	"crypto/sha1"
	"embed"
	"fmt"
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
	defer func() {
		if got, want := fmt.Sprint(recover()), "luascript: main.lua: open no.lua: file does not exist"; got != want {
			t.Errorf("the panic says %q, want %q", got, want)
		}
	}()
	luascript.Load(fstest.MapFS{"main.lua": {Data: []byte(`--- @include "no.lua"`)}}, "main.lua", nil)
}
