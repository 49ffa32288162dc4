package test

import (
	"context"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// faults returns the fields of o with a value that the documentation refuses. It
// repeats Validate in other words.
func faults(o distlock.Opts) []string {
	const year = 366 * 24 * time.Hour
	wrong := map[string]bool{
		"Value":        o.Value == "",
		"Prefix+Value": !fit(o.Prefix+o.Value, o),
		"RetryCount":   o.RetryCount < 0,
		"MaxWaiters":   o.MaxWaiters < 0,
		"Mode":         o.Mode != distlock.Exclusive && o.Mode != distlock.Shared,
		"Permits":      o.Permits < 0 || o.Permits > 1_000_000,
	}
	for field, d := range map[string]time.Duration{
		"KeyTimeout": o.KeyTimeout, "RetryInterval": o.RetryInterval, "MaxWait": o.MaxWait, "MaxHold": o.MaxHold, "MinHold": o.MinHold,
	} {
		wrong[field] = d != 0 && (d < time.Millisecond || d > year)
	}
	if o.MaxHold > 0 && o.MinHold > o.MaxHold {
		wrong["MinHold is above MaxHold"] = true
	}
	if o.Permits > 0 && o.Mode == distlock.Shared {
		wrong["Permits"] = true
	}
	var fields []string
	for field, is := range wrong {
		if is {
			fields = append(fields, field)
		}
	}
	return fields
}

// fit reports whether every key with this beginning is valid.
func fit(base string, o distlock.Opts) bool {
	most := 200
	if o.ParamLock {
		text := 32
		if o.Hasher != nil {
			text = len(o.Hasher(nil, []byte("s\x7f"+strings.Repeat("x", 127))))
		}
		most -= len(":") + text
	}
	return len(base) <= most && utf8.ValidString(base) && !strings.ContainsFunc(base, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r)
	}) && oneTag.MatchString(base)
}

// oneTag matches texts without braces, and those with braces around one hash tag.
var oneTag = regexp.MustCompile(`^[^{}]*(\{[^{}]+\}[^{}]*)?$`)

// lockAsToldBy locks with o, in virtual time: alone, and while another caller has the
// key for a while. It must succeed, at once or soon.
func lockAsToldBy(t *testing.T, o distlock.Opts) {
	t.Helper()
	store := memlock.New()
	l, other := testkit.NewLocker(t, store, distlock.Config{}), testkit.NewLocker(t, store, distlock.Config{})
	g := wiring.Bind(l, o)
	key, err := g.Key("param")
	wantIs(t, err)
	wantIs(t, l.Do(t.Context(), key, distlock.Opts{}, func(context.Context) error { return nil }))
	ran := false
	start := time.Now()
	wantIs(t, g.Do(t.Context(), "param", func(ctx context.Context) error {
		ran = ctx.Err() == nil
		return nil
	}))
	if d := time.Since(start); !ran || d != 0 {
		t.Errorf("ran: %t, after %v", ran, d)
	}
	store.Drop(key) // the key that MinHold keeps

	s := testkit.MustAcquire(t, other, key, distlock.Opts{})
	released := make(chan struct{})
	time.AfterFunc(time.Second, func() {
		wantIs(t, s.Release(t.Context()))
		close(released)
	})
	err = g.Do(t.Context(), "param", func(context.Context) error { return nil })
	switch d := time.Since(start); {
	case err == nil && d != time.Second, err != nil && d > time.Second:
		t.Errorf("after %v: %v", d, err)
	case err != nil && (!errors.Is(err, distlock.ErrNotAcquired) || o.RetryCount == 0 && (o.MaxWait == 0 || o.MaxWait > time.Second)):
		t.Error(err)
	}
	<-released
}

// FuzzOpts checks that Validate refuses exactly what is documented, and names each
// invalid field. Valid options must work, and others must panic.
func FuzzOpts(f *testing.F) {
	const ms, year = int64(time.Millisecond), int64(366 * 24 * time.Hour)
	f.Add("p:", "v", byte(0), int64(0), int64(0), int64(0), int64(0), 0, 0, 0, 0, int64(0), true)
	f.Add("", "", byte(1), ms-1, -ms, year+1, year, -1, -1, 2, -1, -ms, false)
	f.Add("p", strings.Repeat("x", 167), byte(1), ms, ms, ms, ms, 1, 1, 1, 0, ms, false)
	f.Add("p:", strings.Repeat("x", 102), byte(3), year, year, year, year, 2, 1, 0, 1_000_000, year, true)
	f.Add("p:", strings.Repeat("x", 197), byte(5), ms, ms, 3*ms, 2*ms, 2, 1, 0, 3, 2*ms, true)
	f.Add("{p", "}", byte(1), int64(0), int64(0), int64(0), int64(0), 0, 0, 0, 0, int64(0), false)
	f.Add("{p}", "\n", byte(7), int64(1500000), int64(-1<<63), int64(1<<63-1), 4*ms, math.MaxInt, math.MinInt, 1, 1, year+1, false)
	f.Add("p\xff", "é\u0085", byte(24), int64(0), int64(0), int64(0), int64(0), 3, 2, -1, 1_000_001, int64(0), false)
	hashers := []distlock.Hasher{nil, distlock.Plain(), func(dst, _ []byte) []byte { return append(dst, 'x') }, nil}
	f.Fuzz(func(t *testing.T, prefix, value string, how byte, lease, interval, most, least int64, count, waiters, mode, permits int, wait int64, alone bool) {
		o := distlock.Opts{
			Prefix: prefix, Value: value, ParamLock: how&1 != 0, Hasher: hashers[how>>1&3], Fencing: how&16 != 0,
			KeyTimeout: time.Duration(lease), RetryInterval: time.Duration(interval), MaxHold: time.Duration(most), MinHold: time.Duration(least),
			MaxWait: time.Duration(wait), RetryCount: count, MaxWaiters: waiters, Mode: distlock.Mode(mode), Permits: permits, OneReentry: alone,
		}
		err := o.Validate()
		wrong := faults(o)
		if len(wrong) == 0 {
			if err != nil {
				t.Fatalf("%+v: %v", o, err)
			}
			synctest.Test(t, func(t *testing.T) { lockAsToldBy(t, o) })
			return
		}
		if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Op != "options" {
			t.Fatalf("%+v: %v, want %q", o, err, wrong)
		}
		for _, field := range wrong {
			if !strings.Contains(err.Error(), field) {
				t.Errorf("%+v: %v does not name %s", o, err, field)
			}
		}
		if strings.ContainsFunc(err.Error(), unicode.IsControl) {
			t.Errorf("%+v: the error is not fit for a log: %q", o, err)
		}
		if _, keyErr := wiring.Key(o, nil); keyErr == nil || keyErr.Error() != err.Error() {
			t.Errorf("%+v: Key says %v, not %v", o, keyErr, err)
		}
	})
}
