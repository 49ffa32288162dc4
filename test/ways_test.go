package test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// way takes the lock of the key "k", perhaps with others, for a function that must not run.
type way func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error

// ways are those that end when the lock is not acquired in time.
var ways = map[string]way{
	"Acquire": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := l.Acquire(ctx, "k", o)
		return err
	},
	"Do": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error { return l.Do(ctx, "k", o, ran) },
	"Call": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := distlock.Call(ctx, l, "k", o, func(ctx context.Context) (int, error) { return 0, ran(ctx) })
		return err
	},
	"Wrap": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		o.Value = "k"
		_, err := distlock.Wrap(l, func(ctx context.Context, _ int) (int, error) { return 0, ran(ctx) }, o)(ctx, 1)
		return err
	},
	"Site": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		o.Value = "k"
		return wiring.Bind(l, o).Do(ctx, nil, ran)
	},
	"AcquireAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := l.AcquireAll(ctx, []string{"a", "k", "z"}, o)
		return err
	},
	"DoAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		return l.DoAll(ctx, []string{"a", "k", "z"}, o, ran)
	},
}

func lead(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
	return l.Lead(ctx, "k", o, ran)
}

func ran(context.Context) error { panic(errors.New("the function ran")) }

// Options are refused before anything is sent if the backend cannot obey them, or if they
// make keys of parameters although the key is given: then all callers would have one lock.
func TestOptionsAreRefused(t *testing.T) {
	const (
		unshared = ", but the backend *testkit.Store does not support sharing"
		short    = ", but the backend *testkit.Store keeps no key for longer than "
		given    = " is set, but the key is given, not made of parameters: use Wrap, or make the key with wiring.Key"
	)
	minute := driver.Features{Sharing: true, MaxTTL: 30 * time.Second}
	for want, c := range map[string]struct {
		features driver.Features
		opts     distlock.Opts
	}{
		"Mode is shared" + unshared:          {driver.Features{}, reading},
		"Permits is 3" + unshared:            {driver.Features{}, permit},
		"KeyTimeout is 2m0s" + short + "30s": {minute, distlock.Opts{KeyTimeout: 2 * time.Minute}},
		"MinHold is 10m0s" + short + "30s":   {minute, distlock.Opts{MinHold: 10 * time.Minute}},
		"KeyTimeout is 10s" + short + "2s":   {driver.Features{MaxTTL: 2 * time.Second}, distlock.Opts{}}, // the default
		"ParamLock" + given:                  {minute, distlock.Opts{ParamLock: true}},
		"Params" + given:                     {minute, distlock.Opts{Params: distlock.By(func(o order) any { return o.ID })}},
		"Hasher" + given:                     {minute, distlock.Opts{Hasher: distlock.Plain()}},
		"KeyFormat" + given:                  {minute, distlock.Opts{KeyFormat: joined}},
	} {
		s := testkit.NewStore()
		s.SetFeatures(c.features)
		l := testkit.NewLocker(t, s, distlock.Config{})
		refuse := func(name string, take way) {
			err := recovered(func() error { return take(t.Context(), l, c.opts) })
			if err == nil || !strings.HasPrefix(err.Error(), "distlock: options") || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		for name, take := range ways {
			if name != "Wrap" && name != "Site" || !strings.HasSuffix(want, given) {
				refuse(name, take)
			}
		}
		refuse("Lead", lead)
		if calls := s.Calls(); len(calls) > 0 {
			t.Errorf("the store was asked: %v", calls)
		}
		most := distlock.Opts{Value: "v", KeyTimeout: c.features.MaxTTL, MinHold: c.features.MaxTTL}
		wantIs(t, wiring.Bind(l, most).Do(t.Context(), nil, func(context.Context) error { return nil }))
	}
}

// recovered returns the error of f, or that with which it panics.
func recovered(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			text, _ := r.(string)
			err = errors.New(text)
		}
	}()
	return f()
}
