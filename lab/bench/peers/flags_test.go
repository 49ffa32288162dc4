package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	c, err := parseFlags([]string{"-only", "f4, F1", "-peers", "bare"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range c.scenarios() {
		ids = append(ids, s.id)
		if !slices.Equal(s.field, []string{ours, "bare"}) {
			t.Errorf("%s: %v", s.id, s.field)
		}
	}
	if !slices.Equal(ids, []string{"F1", "F4"}) || c.rounds != 5 || c.slice != 2*time.Second {
		t.Errorf("%v, %+v", ids, c)
	}
	if !slices.Contains(redisPeers, "redsync") {
		t.Error("picking peers changed the list of all")
	}

	if c, err = parseFlags([]string{"-only", "F14", "-peers", "go-zookeeper"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, s := range c.scenarios() {
		if !slices.Equal(s.field, []string{ours, goZooKeeper}) {
			t.Errorf("%s: %v", s.id, s.field)
		}
	}

	if c, err = parseFlags([]string{"-short", "-rounds", "2", "-only", "F3,F7"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	ids = nil
	for _, s := range c.scenarios() {
		ids = append(ids, s.id)
	}
	if !slices.Equal(ids, []string{"F3", "F7.2", "F7.8", "F7.64"}) || c.rounds != 2 || c.patience != 5*time.Second {
		t.Errorf("%v, %+v", ids, c)
	}
}

func TestBadFlags(t *testing.T) {
	for arg, want := range map[string]string{
		"-only F9":                 `-only "F9": want some of F1,F2,F3,F4,F5,F6,F7,F8,F14,F16,F17,F18`,
		"-peers zookeeper":         `-peers "zookeeper": want some of bare,redislock,redsync,rueidislock,go-zookeeper,for-update,advisory,concurrency`,
		"-peers distlock":          `-peers "distlock": want some of`,
		"-rounds -1":               "-rounds -1: is negative",
		"-slice -1s":               "-slice -1s: is negative",
		"-redis http://localhost/": "-redis: redis: invalid URL scheme: http",
		"now":                      `unexpected argument "now"`,
	} {
		var stderr strings.Builder
		if code := run(t.Context(), strings.Fields(arg), io.Discard, &stderr); code != 2 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q", arg, code, stderr.String())
		}
	}
}
