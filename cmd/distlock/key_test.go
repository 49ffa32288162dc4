package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// The command prints the keys that a program has.
func TestKeyIsThatOfTheLibrary(t *testing.T) {
	t.Parallel()
	lock := distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true}
	for _, c := range []struct {
		args   []string
		opts   distlock.Opts
		params any
	}{
		{nil, distlock.Opts{Prefix: "shop:", Value: "pay"}, nil},
		{[]string{"42"}, lock, 42},
		{[]string{"--", "-7"}, lock, -7},
		{[]string{"18446744073709551615"}, lock, uint64(1<<64 - 1)},
		{[]string{"1.5"}, lock, 1.5},
		{[]string{"true"}, lock, true},
		{[]string{"tea 1"}, lock, "tea 1"},
		{[]string{""}, lock, ""},
		{[]string{"u1", "7"}, lock, []any{"u1", 7}},
		{[]string{"2026-05-04T12:00:00Z"}, lock, time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)},
		{[]string{"42", "tea"}, lock, struct {
			OrderID int64
			SKU     string
		}{42, "tea"}},
		{[]string{strings.Repeat("x", 300)}, lock, strings.Repeat("x", 300)},
	} {
		want, err := wiring.Key(c.opts, c.params)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		args := append([]string{"distlock", "key", "-prefix", "shop:", "-value", "pay"}, c.args...)
		if code := execute(t.Context(), args, &out, &out); code != exitOK || out.String() != want+"\n" {
			t.Errorf("%q: exit code %d, %q; want %s", c.args, code, out.String(), want)
		}
	}
	var documented strings.Builder
	execute(t.Context(), []string{"distlock", "key", "-prefix", "shop:", "-value", "pay", "42"}, &documented, &documented)
	if readme, err := os.ReadFile("README.md"); err != nil || !strings.Contains(string(readme), "-value pay 42\n"+documented.String()) {
		t.Errorf("README.md does not have %q (%v)", documented.String(), err)
	}
	for _, args := range [][]string{{}, {"-value", "a b"}, {"-value", "a", strings.Repeat("x", 1<<20+1)}} {
		var out strings.Builder
		if code := execute(t.Context(), append([]string{"distlock", "key"}, args...), &out, &out); code != exitUsage {
			t.Errorf("%q: exit code %d, %s", args, code, out.String())
		}
	}
}
