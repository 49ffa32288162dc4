package weave_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/weave"
)

// pay is like the code of the weaver for a function with these options.
func pay(ctx context.Context, l *distlock.Locker, text string, params any, body func(ctx context.Context) error) (err error) {
	ctx, lease, err := weave.Enter(ctx, l, text, params)
	if err != nil {
		return err
	}
	defer weave.Leave(lease, &err)
	return body(ctx)
}

func key(ctx context.Context) string {
	if lease, ok := distlock.FromContext(ctx); ok {
		return lease.Key()
	}
	return ""
}

func TestEnter(t *testing.T) {
	t.Parallel()
	const text = "Pay\nprefix:shop:\nvalue:pay\npart:order"
	weave.Declare(text, nil, nil)
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	want, err := distlock.NewKeyBuilder(distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true}).Key(7)
	if err != nil {
		t.Fatal(err)
	}
	mine := errors.New("mine")
	err = pay(t.Context(), l, text, 7, func(ctx context.Context) error {
		if got := key(ctx); got != want {
			t.Errorf("key %q, want %q", got, want)
		}
		once := distlock.Opts{RetryCount: 1}
		if _, err := l.Acquire(context.Background(), want, once); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("another got the key, %v", err)
		}
		return mine
	})
	if !errors.Is(err, mine) {
		t.Error(err)
	}
	lease, err := l.Acquire(t.Context(), want, distlock.Opts{RetryCount: 1})
	if err != nil {
		t.Fatalf("the key was not given back: %v", err)
	}
	weave.Leave(lease, &err)
	if err != nil {
		t.Error(err)
	}
}

func TestEnterWithoutNeed(t *testing.T) {
	t.Parallel()
	const text = "Skipped\nvalue:skipped\npart:order"
	weave.Declare(text, nil, nil)
	err := pay(t.Context(), testkit.NewLocker(t, memlock.New(), distlock.Config{}), text, distlock.Skip, func(ctx context.Context) error {
		if got := key(ctx); got != "" {
			t.Errorf("key %q although there is none to take", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Without the lock the function does not run.
func TestEnterRefuses(t *testing.T) {
	t.Parallel()
	const text = "Refused\nvalue:refused\nparamLock:"
	weave.Declare(text, nil, nil)
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	for _, c := range []struct {
		locker *distlock.Locker
		text   string
		params any
		want   string
	}{
		{nil, text, 7, "//distlock:lock on Refused: the Locker is nil"},
		{l, "Early\nvalue:early", nil, "//distlock:lock on Early: it is called before the variables of its package are set"},
		{l, text, weave.Params(weave.Param(t.Context())), "paramLock: it has no parameters"},
		{l, text, func() {}, "func()"},
	} {
		err := pay(t.Context(), c.locker, c.text, c.params, func(context.Context) error { t.Errorf("ran, want %s", c.want); return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func TestDeclareTwice(t *testing.T) {
	t.Parallel()
	if a, b := weave.Declare("Twice\nvalue:a", nil, nil), weave.Declare("Twice\nvalue:a", nil, nil); a != b {
		t.Error("the same text makes two sites")
	}
	if a, b := weave.Declare("Twice\nvalue:a", nil, nil), weave.Declare("Twice\nvalue:b", nil, nil); a == b {
		t.Error("two texts make one site")
	}
}

func TestDeclareRefusesNonsense(t *testing.T) {
	t.Parallel()
	weave.Declare("Hashed\nvalue:a\nparamLock:\nhasher:h", distlock.Keyed(make([]byte, 16)), nil)
	weave.Declare("Formatted\nvalue:a\nkeyFormat:f", nil, func(base string, _ any) (string, error) { return base, nil })
	for text, want := range map[string]string{
		"F\nvalue:a\nvalu:b":                             "distlock: //distlock:lock on F: unknown option valu",
		"F\nvalue:a\nvalue:b":                            "on F: value is given twice",
		"F\nvalue:":                                      "on F: value has no value: write value:…",
		"F\nvalue:a\nkeyTimeout:10":                      "on F: keyTimeout: 10 has no unit: write 10ms or 10s",
		"F\nvalue:a\npermits:x":                          `on F: permits: "x" is not a whole number`,
		"F\nvalue:a\nmode:odd":                           `on F: mode: "odd" is neither exclusive nor shared`,
		"F\nvalue:a\nfencing:yes":                        `on F: fencing: "yes" is neither true nor false`,
		"F\nvalue:a\nparamLock:false\npart:x":            "on F: paramLock is false but param or key is given",
		"F\nvalue:a\nretryCount:-1":                      `distlock: options "a": //distlock:lock on F: RetryCount is negative: -1`,
		"F\nprefix:shop:":                                "Value",
		"Hashed\nvalue:a\nparamLock:\nhasher:h":          "on Hashed: there are two such functions",
		"Formatted\nvalue:a\nkeyFormat:f":                "on Formatted: there are two such functions",
		"F\nvalue:a\nkeyFormat:f\nkeyFormat:f":           "on F: keyFormat is given twice",
		"Wrong\nvalue:a\nkeyFormat:f":                    "on Wrong: KeyFormat made the key \"a b\"",
		"F\nvalue:a\nprefix:shop:\tvalue:b\nkeyTimeout:": "keyTimeout has no value",
	} {
		var hasher distlock.Hasher
		var format distlock.KeyFormat
		if strings.Contains(text, "keyFormat:f") {
			format = func(string, any) (string, error) { return "a b", nil }
		}
		if strings.HasPrefix(text, "Hashed") {
			hasher = distlock.HasherFunc(func(encoded []byte) string { return string(encoded) })
		}
		func() {
			defer func() {
				if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), want) {
					t.Errorf("%q: %v, want %s", text, r, want)
				}
			}()
			weave.Declare(text, hasher, format)
		}()
	}
}

func TestParams(t *testing.T) {
	t.Parallel()
	var none context.Context
	ctx := weave.Param(t.Context())
	for i, c := range []struct{ got, want any }{
		{weave.Params(weave.Param(7)), 7},
		{weave.Params(weave.Param(7), ctx), 7},
		{weave.Params(weave.Param(none), weave.Param("a"), ctx, weave.Param(7)), []any{"a", 7}},
		{weave.Params(weave.Param([]string{"a"})), []string{"a"}},
		{weave.Params(weave.Param[error](nil), weave.Param(7)), []any{nil, 7}},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%d: %v, want %v", i, c.got, c.want)
		}
	}
}

// A woven call allocates no more than the lock itself.
func TestEnterAllocates(t *testing.T) {
	const text = "Cheap\nvalue:cheap"
	weave.Declare(text, nil, nil)
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	o := distlock.Opts{Value: "cheap"}
	g := l.Site(o)
	ctx := t.Context()
	run := func(context.Context) error { return nil }
	byHand := testing.AllocsPerRun(100, func() { _ = g.Do(ctx, nil, run) })
	woven := testing.AllocsPerRun(100, func() { _ = pay(ctx, l, text, nil, run) })
	if woven > byHand {
		t.Errorf("%v allocations, by hand %v", woven, byHand)
	}
}

// The limit of the wait does not limit the function.
func TestEnterMaxWait(t *testing.T) {
	const text = "Patient\nvalue:patient\nmaxWait:3s"
	weave.Declare(text, nil, nil)
	synctest.Test(t, func(t *testing.T) {
		l := distlock.New(memlock.New(), distlock.Config{})
		first := make(chan error)
		start := time.Now()
		go func() {
			first <- pay(t.Context(), l, text, nil, func(ctx context.Context) error {
				<-time.After(10 * time.Second)
				return context.Cause(ctx)
			})
		}()
		synctest.Wait()
		err := pay(t.Context(), l, text, nil, func(context.Context) error { t.Error("ran"); return nil })
		if d := time.Since(start); !errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, context.DeadlineExceeded) || d != 3*time.Second {
			t.Errorf("after %v: %v", d, err)
		}
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}
