package test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// An acquisition that is refused because of its options or its key reaches the hooks, Start
// first, with the error that the caller gets. Nobody else may look at it.
func TestRefusedReachesTheHooks(t *testing.T) {
	run := func(context.Context) error { t.Error("it ran"); return nil }
	wrapped := func(l *distlock.Locker) distlock.Func[float64, int] {
		return distlock.Wrap(l, func(context.Context, float64) (int, error) { return 0, run(t.Context()) }, distlock.Opts{Value: "f", ParamLock: true})
	}
	nan := func() float64 { zero := 0.0; return zero / zero }
	bad := distlock.Opts{Value: "f", MaxWait: -1}
	for name, c := range map[string]struct {
		call func(ctx context.Context, l *distlock.Locker) error
		code distlock.Code
		key  string
		warn bool
	}{
		"Do, key": {func(ctx context.Context, l *distlock.Locker) error {
			return l.Do(ctx, "Daily report", distlock.Opts{}, run)
		}, distlock.CodeKey, "Daily report", true},
		"Do, options": {func(ctx context.Context, l *distlock.Locker) error { return l.Do(ctx, "k", bad, run) }, distlock.CodeOptions, "k", true},
		"Do, nil":     {func(ctx context.Context, l *distlock.Locker) error { return l.Do(ctx, "k", distlock.Opts{}, nil) }, distlock.CodeOptions, "k", true},
		"Call, nil": {func(ctx context.Context, l *distlock.Locker) error {
			_, err := distlock.Call[int](ctx, l, "k", distlock.Opts{}, nil)
			return err
		}, distlock.CodeOptions, "k", true},
		"TryAcquire": {func(ctx context.Context, l *distlock.Locker) error {
			_, err := l.TryAcquire(ctx, "", distlock.Opts{})
			return err
		}, distlock.CodeKey, "", false},
		"unsupported": {func(ctx context.Context, l *distlock.Locker) error {
			return l.Do(ctx, "k", distlock.Opts{Permits: 2}, run)
		}, distlock.CodeOptions, "k", true},
		"DoAll, key": {func(ctx context.Context, l *distlock.Locker) error {
			return l.DoAll(ctx, []string{"a", "b c"}, distlock.Opts{}, run)
		}, distlock.CodeKey, "b c", true},
		"DoAll, options": {func(ctx context.Context, l *distlock.Locker) error { return l.DoAll(ctx, []string{"a"}, bad, run) }, distlock.CodeOptions, "a", true},
		"DoAll, nothing": {func(ctx context.Context, l *distlock.Locker) error { return l.DoAll(ctx, nil, distlock.Opts{}, run) }, distlock.CodeOptions, "", true},
		"DoAll, nil": {func(ctx context.Context, l *distlock.Locker) error {
			return l.DoAll(ctx, []string{"a"}, distlock.Opts{}, nil)
		}, distlock.CodeOptions, "", true},
		"Lead, key": {func(ctx context.Context, l *distlock.Locker) error { return l.Lead(ctx, "a b", distlock.Opts{}, run) }, distlock.CodeKey, "a b", true},
		"Lead, nil": {func(ctx context.Context, l *distlock.Locker) error { return l.Lead(ctx, "k", distlock.Opts{}, nil) }, distlock.CodeOptions, "k", true},
		"Wrap":      {func(ctx context.Context, l *distlock.Locker) error { _, err := wrapped(l)(ctx, nan()); return err }, distlock.CodeKey, "", false},
		"Site.Do, nil": {func(ctx context.Context, l *distlock.Locker) error {
			return wiring.Bind(l, distlock.Opts{Value: "f"}).Do(ctx, nil, nil)
		}, distlock.CodeOptions, "", true},
		"Site.Do, Skip": {func(ctx context.Context, l *distlock.Locker) error {
			return wiring.Bind(l, distlock.Opts{Value: "f"}).Do(ctx, distlock.Skip, nil)
		}, distlock.CodeOptions, "", true},
		"closed": {func(ctx context.Context, l *distlock.Locker) error {
			return errors.Join(l.Close(), l.Do(ctx, "k", distlock.Opts{}, run))
		}, distlock.CodeClosed, "k", false},
		"a Site that does not fit": {func(ctx context.Context, l *distlock.Locker) error {
			return wiring.NewSite("f", distlock.Opts{Value: "f", Mode: distlock.Shared}).On(l).Do(ctx, nil, run)
		}, distlock.CodeOptions, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			var failed []distlock.Event
			hooks := distlock.JoinHooks(distlock.Hooks{
				Start: func(ctx context.Context, _ distlock.Event) context.Context {
					return context.WithValue(ctx, ctxKey{}, "span")
				},
				Event: testkit.On{
					distlock.Failed: func(ctx context.Context, i distlock.Event) {
						if ctx.Value(ctxKey{}) != "span" {
							t.Error("Failed without Start")
						}
						failed = append(failed, i)
					},
				}.Event,
			}, distlock.LogHooks(slog.New(slog.NewTextHandler(&log, nil))))
			store := testkit.NewStore()
			store.SetFeatures(driver.Features{})
			l := distlock.New(store.Only(0), distlock.Config{Hooks: hooks})
			defer l.Close()
			err := c.call(t.Context(), l)
			if distlock.CodeOf(err) != c.code {
				t.Errorf("%v", err)
			}
			if len(failed) != 1 || failed[0].Key != c.key || !errors.Is(err, failed[0].Err) || failed[0].Name == "" {
				t.Errorf("Failed was told %+v, the caller %v", failed, err)
			}
			if got := strings.Contains(log.String(), `level=WARN msg="lock not acquired"`); got != c.warn {
				t.Errorf("logged: %q", log.String())
			}
		})
	}
}

func TestOptsValidate(t *testing.T) {
	t.Parallel()
	const year = 366 * 24 * time.Hour
	long := strings.Repeat("x", 100)
	byOrder := distlock.By(func(o order) any { return o.ID })
	short := testkit.WhenCalled("x")
	for _, c := range []struct {
		name string
		opts distlock.Opts
		want []string // each in the error; none if o is valid
	}{
		{"least", distlock.Opts{Value: "v"}, nil},
		{"all", distlock.Opts{
			Prefix: "p:", Value: "v", ParamLock: true, Params: byOrder, Hasher: short, KeyTimeout: time.Millisecond, RetryCount: 1,
			RetryInterval: time.Millisecond, MaxHold: time.Hour, Reentry: distlock.ReentryNone, MinHold: time.Hour, Fencing: true,
		}, nil},
		{"longest durations", distlock.Opts{Value: "v", KeyTimeout: year, RetryInterval: year, MaxWait: year, MaxHold: year, MinHold: year}, nil},
		{"zero", distlock.Opts{}, []string{"Value is empty"}},
		{"KeyTimeout negative", distlock.Opts{Value: "v", KeyTimeout: -time.Second}, []string{"KeyTimeout", "negative", "-1s"}},
		{"KeyTimeout too large", distlock.Opts{Value: "v", KeyTimeout: year + 1}, []string{"KeyTimeout", "above"}},
		{"RetryInterval too small", distlock.Opts{Value: "v", RetryInterval: 10}, []string{"RetryInterval", "millisecond", "10ns"}},
		{"MaxWait negative", distlock.Opts{Value: "v", MaxWait: -time.Hour}, []string{"MaxWait is negative: -1h"}},
		{"MaxWait and one attempt", distlock.Opts{Value: "v", MaxWait: time.Second, RetryCount: 1}, nil},
		{"MinHold without MaxHold", distlock.Opts{Value: "v", MinHold: time.Hour}, nil},
		{"MinHold above MaxHold", distlock.Opts{Value: "v", MinHold: time.Hour, MaxHold: time.Minute}, []string{"MinHold is above MaxHold: 1h0m0s, 1m0s"}},
		{"RetryCount", distlock.Opts{Value: "v", RetryCount: -3}, []string{"RetryCount is negative: -3"}},
		{"Reentry", distlock.Opts{Value: "v", Reentry: 3}, []string{"Reentry is unknown: 3"}},
		{"Params without ParamLock", distlock.Opts{Value: "v", Params: byOrder}, nil},
		{"Shared", distlock.Opts{Value: "v", Mode: distlock.Shared, MaxHold: time.Hour, MinHold: time.Minute}, nil},
		{"Permits", distlock.Opts{Value: "v", Permits: 1_000_000}, nil},
		{"Mode unknown", distlock.Opts{Value: "v", Mode: 7}, []string{"Mode is unknown: Mode(7)"}},
		{"Permits negative", distlock.Opts{Value: "v", Permits: -2}, []string{"Permits is negative: -2"}},
		{"Permits too large", distlock.Opts{Value: "v", Permits: 1_000_001}, []string{"Permits is above 1000000: 1000001"}},
		{"Permits of readers", distlock.Opts{Value: "v", Permits: 3, Mode: distlock.Shared}, []string{"Permits is set but Mode is shared: 3"}},
		{"By of nil", distlock.Opts{Value: "v", ParamLock: true, Params: distlock.By[order](nil)}, []string{"Params is By of a nil", "order"}},
		{"By of nil without ParamLock", distlock.Opts{Value: "v", Params: distlock.By[order](nil)}, []string{"Params is By of a nil"}},
		{"white space", distlock.Opts{Prefix: "p:", Value: "a b"}, []string{`Prefix+Value "p:a b" has white space at byte 3`}},
		{"hash tag", distlock.Opts{Prefix: "{p}", Value: "a", ParamLock: true}, nil},
		{"brace", distlock.Opts{Prefix: "{p", Value: "a"}, []string{`Prefix+Value "{pa" has braces that are not one hash tag`}},
		{"not UTF-8", distlock.Opts{Prefix: "p", Value: "\xff"}, []string{`Prefix+Value "p\xff" is not valid UTF-8`}},
		{"longest", distlock.Opts{Prefix: long, Value: long}, nil},
		{"too long", distlock.Opts{Prefix: long, Value: long + "x"}, []string{"Prefix+Value \"xxx", "201 bytes"}},
		{"room for the digest", distlock.Opts{Prefix: long, Value: long[:66], ParamLock: true}, nil},
		{"no room for the digest", distlock.Opts{Prefix: long, Value: long[:67], ParamLock: true}, []string{"Prefix+Value \"xxx", "167 bytes", "at most 166"}},
		{"room for one's own", distlock.Opts{Prefix: long, Value: long[:98], ParamLock: true, Hasher: short}, nil},
		{"no room for one's own", distlock.Opts{Prefix: long, Value: long[:99], ParamLock: true, Hasher: short}, []string{"Prefix+Value \"xxx", "199 bytes", "at most 198"}},
		{"everything at once", distlock.Opts{
			Prefix: "p p", Params: byOrder, Hasher: short, KeyTimeout: -1, RetryInterval: 5, MaxHold: -7, RetryCount: -8, Reentry: -9,
		}, []string{
			"Value is empty", `"p p"`, "KeyTimeout is negative: -1ns", "RetryInterval is below one millisecond: 5ns",
			"MaxHold is negative: -7ns", "RetryCount is negative: -8", "Reentry is unknown: -9",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.opts.Validate()
			if c.want == nil {
				if err != nil {
					t.Errorf("got %v", err)
				}
				return
			}
			e, ok := errors.AsType[*distlock.Error](err)
			if !ok || e.Op != "options" || e.Key != "" || !strings.HasPrefix(err.Error(), "distlock: options: ") {
				t.Fatalf("got %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if n := strings.Count(err.Error(), "Prefix+Value"); n > 1 {
				t.Errorf("%v names Prefix+Value %d times", err, n)
			}
		})
	}
}
