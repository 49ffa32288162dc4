package test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
)

func TestOptsValidate(t *testing.T) {
	t.Parallel()
	const year = 366 * 24 * time.Hour
	long := strings.Repeat("x", 100)
	byOrder := distlock.By(func(o order) any { return o.ID })
	short := func(dst, _ []byte) []byte { return append(dst, 'x') }
	for _, c := range []struct {
		name string
		opts distlock.Opts
		want []string // each in the error; none if o is valid
	}{
		{"least", distlock.Opts{Value: "v"}, nil},
		{"all", distlock.Opts{
			Prefix: "p:", Value: "v", ParamLock: true, Params: byOrder, Hasher: distlock.Plain(), KeyTimeout: time.Millisecond, RetryCount: 1,
			RetryInterval: time.Millisecond, MaxHold: time.Hour, MaxWaiters: 1, MinHold: time.Hour, Fencing: true,
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
		{"MaxWaiters", distlock.Opts{Value: "v", MaxWaiters: -4}, []string{"MaxWaiters is negative: -4"}},
		{"Shared", distlock.Opts{Value: "v", Mode: distlock.Shared, MaxHold: time.Hour, MinHold: time.Minute}, nil},
		{"Permits", distlock.Opts{Value: "v", Permits: 1_000_000}, nil},
		{"Mode unknown", distlock.Opts{Value: "v", Mode: 7}, []string{"Mode is unknown: Mode(7)"}},
		{"Permits negative", distlock.Opts{Value: "v", Permits: -2}, []string{"Permits is negative: -2"}},
		{"Permits too large", distlock.Opts{Value: "v", Permits: 1_000_001}, []string{"Permits is above 1000000: 1000001"}},
		{"Permits of readers", distlock.Opts{Value: "v", Permits: 3, Mode: distlock.Shared}, []string{"Permits is set but Mode is shared: 3"}},
		{"Params without ParamLock", distlock.Opts{Value: "v", Params: byOrder}, []string{"Params", "ParamLock is false"}},
		{"By of nil", distlock.Opts{Value: "v", ParamLock: true, Params: distlock.By[order](nil)}, []string{"Params is By of a nil", "order"}},
		{"By of nil without ParamLock", distlock.Opts{Value: "v", Params: distlock.By[order](nil)}, []string{"Params is By of a nil", "ParamLock is false"}},
		{"white space", distlock.Opts{Prefix: "p:", Value: "a b"}, []string{`Prefix+Value "p:a b" has white space at byte 3`}},
		{"hash tag", distlock.Opts{Prefix: "{p}", Value: "a", ParamLock: true}, nil},
		{"brace", distlock.Opts{Prefix: "{p", Value: "a"}, []string{`Prefix+Value "{pa" has braces that are not one hash tag`}},
		{"not UTF-8", distlock.Opts{Prefix: "p", Value: "\xff"}, []string{`Prefix+Value "p\xff" is not valid UTF-8`}},
		{"longest", distlock.Opts{Prefix: long, Value: long}, nil},
		{"too long", distlock.Opts{Prefix: long, Value: long + "x"}, []string{"Prefix+Value \"xxx", "201 bytes"}},
		{"room for the digest", distlock.Opts{Prefix: long, Value: long[:67], ParamLock: true}, nil},
		{"no room for the digest", distlock.Opts{Prefix: long, Value: long[:68], ParamLock: true}, []string{"Prefix+Value \"xxx", "168 bytes", "at most 167"}},
		{"room for Plain", distlock.Opts{Prefix: long, Value: long[:3], ParamLock: true, Hasher: distlock.Plain()}, nil},
		{"no room for Plain", distlock.Opts{Prefix: long, Value: long[:4], ParamLock: true, Hasher: distlock.Plain()}, []string{"Prefix+Value \"xxx", "104 bytes", "at most 103"}},
		{"room for one's own", distlock.Opts{Prefix: long, Value: long[:98], ParamLock: true, Hasher: short}, nil},
		{"no room for one's own", distlock.Opts{Prefix: long, Value: long[:99], ParamLock: true, Hasher: short}, []string{"Prefix+Value \"xxx", "199 bytes", "at most 198"}},
		{"everything at once", distlock.Opts{
			Prefix: "p p", Params: byOrder, Hasher: distlock.Plain(), KeyTimeout: -1, RetryInterval: 5, MaxHold: -7, RetryCount: -8, MaxWaiters: -9,
		}, []string{
			"Value is empty", `"p p"`, "Params is set", "KeyTimeout is negative: -1ns", "RetryInterval is below one millisecond: 5ns",
			"MaxHold is negative: -7ns", "RetryCount is negative: -8", "MaxWaiters is negative: -9",
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
