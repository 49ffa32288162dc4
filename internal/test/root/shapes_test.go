package test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// Locks of one Prefix and Value that never exclude each other are logged, once for each name.
// It is not parallel, because it sets the default Logger.
func TestShapesOfOneNameAreLogged(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	lock := func(value string, paramLock bool, params ...any) {
		t.Helper()
		s := wiring.Bind(l, distlock.Opts{Prefix: "shop:", Value: value, ParamLock: paramLock})
		for _, p := range params {
			wantIs(t, s.Do(t.Context(), p, func(context.Context) error { return nil }))
		}
	}
	format := distlock.Opts{Prefix: "shop:", Value: "own", ParamLock: true, KeyFormat: joined}

	lock("same", true, 42, "u1", []string{"u1"}, struct{ ID int }{42})
	lock("same", true, nil, "", 42)
	lock("tags", true, []string{"a"}, []string{"a", "b"}, []string{}) // one place may lock lists
	lock("own", true, 42)
	wantIs(t, wiring.Bind(l, format).Do(t.Context(), []any{1, 2}, func(context.Context) error { return nil }))
	lock("pay", true, 42)
	wantIs(t, l.Do(t.Context(), "pay:42", distlock.Opts{Prefix: "shop:", Value: "pay"}, func(context.Context) error { return nil }))
	if log.Len() > 0 {
		t.Errorf("logged for nothing: %s", &log)
	}

	lock("pay", true, []any{42, "u1"})
	want := `level=WARN msg="distlock: locks of one Prefix and Value have different numbers of parameters (-1: a key without Value) and do not exclude each other" name=shop:pay parameters=1 elsewhere=2`
	if !strings.Contains(log.String(), want) {
		t.Errorf("logged %s, want %s", &log, want)
	}
	lock("pay", true, []any{42, "u1", []int{1, 2}}, 42)
	lock("same", false, 42) // one lock for all, and one lock for each
	if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "name=shop:same parameters=1 elsewhere=0") {
		t.Errorf("%d lines: %s", n, &log)
	}

	// A program that makes names does not fill the memory.
	const names = 2000
	for i := range names {
		lock(fmt.Sprint("v", i), true, 42)
	}
	log.Reset()
	wantIs(t, l.Do(t.Context(), "1", distlock.Opts{Prefix: "shop:", Value: "v1"}, func(context.Context) error { return nil }))
	lock(fmt.Sprint("v", names-1), true, []any{1, 2})
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "name=shop:v1 parameters=1 elsewhere=-1") {
		t.Errorf("%d lines: %s", n, &log)
	}
}
