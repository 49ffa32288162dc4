package test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

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
		"Site.Acquire": {func(ctx context.Context, l *distlock.Locker) error {
			_, err := wiring.Bind(l, distlock.Opts{Value: "f", ParamLock: true}).Acquire(ctx, distlock.Skip)
			return err
		}, distlock.CodeKey, "", false},
		"closed": {func(ctx context.Context, l *distlock.Locker) error {
			return errors.Join(l.Close(), l.Do(ctx, "k", distlock.Opts{}, run))
		}, distlock.CodeClosed, "k", false},
		"a Site that does not fit": {func(ctx context.Context, l *distlock.Locker) error {
			return wiring.NewSite("f", distlock.Opts{Value: "f", Mode: distlock.Shared}).On(l).Do(ctx, nil, run)
		}, distlock.CodeOptions, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			var failed []distlock.FailedInfo
			hooks := distlock.JoinHooks(distlock.Hooks{
				Start: func(ctx context.Context, _ distlock.LockInfo) context.Context {
					return context.WithValue(ctx, ctxKey{}, "span")
				},
				Failed: func(ctx context.Context, i distlock.FailedInfo) {
					if ctx.Value(ctxKey{}) != "span" {
						t.Error("Failed without Start")
					}
					failed = append(failed, i)
				},
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
