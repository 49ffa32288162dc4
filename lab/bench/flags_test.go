package main

import (
	"strings"
	"testing"
)

func TestBadFlags(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-users 0":                   `-users "0": want at least 1`,
		"-loops 0":                   `-loops "0": want at least 1`,
		"-users 1000000 -loops 3000": `-loops "3000": with 1000000 users that is more than 2147483647 samples, the most that a counter holds`,
		"-keys 0":                    `-keys "0": want at least 1`,
		"-ramp-up -1s":               `-ramp-up "-1s": is negative`,
		"-think -1ms":                `-think "-1ms": is negative`,
		"-hold -1ms":                 `-hold "-1ms": is negative`,
		"-hold -2ms..1ms":            `-hold "-2ms..1ms": is negative`,
		"-hold 3s..1s":               `-hold "3s..1s": want the shorter time first`,
		"-hold 1s..":                 `invalid value "1s.." for flag -hold: want a time after the two dots, such as 500ms..3500ms: time: invalid duration ""`,
		"-lockers -1":                `-lockers "-1": is negative`,
		"-lockers 5 -users 4":        `-users "4": -lockers 5 has one user for each locker`,
		"-lockers 5 -lock both":      `-lock "both": -lockers needs the lock: nobody leads without it`,
		"-lockers 5 -keys 2":         `-keys "2": -lockers elects one leader, with one key`,
		"-lock maybe":                `-lock "maybe": want on, off or both`,
		"-backend carrier-pigeon":    "backend \"…\": invalid backend: want one of embedded, ",
		"-backend redis -lock off":   "backend \"…\": invalid backend: want one of embedded, ",
	} {
		got := runArgs(t.Context(), strings.Fields(args)...)
		if want = "bench: " + want; got.code != 2 || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: exit code %d, stderr %q, want %q", args, got.code, got.stderr, want)
		}
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
