package test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

type payRequest struct {
	OrderID int64
	Note    string `lock:"-"`
}

type payService struct{ paid map[int64]int }

func (s *payService) pay(_ context.Context, r payRequest) (string, error) {
	s.paid[r.OrderID]++
	return "paid", nil
}

func TestWrap(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		svc := &payService{paid: map[int64]int{}}
		pay := distlock.Wrap(l, svc.pay, distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true})
		byID := distlock.Wrap(l, svc.pay, distlock.Opts{
			Prefix: "shop:", Value: "pay-id", ParamLock: true,
			Params: distlock.By(func(r payRequest) any { return r.OrderID }),
		})
		whole := distlock.Wrap(l, svc.pay, distlock.Opts{Prefix: "shop:", Value: "pay"})
		for _, r := range []payRequest{{1, "a"}, {1, "b"}, {2, "a"}} {
			for _, f := range []distlock.Func[payRequest, string]{pay, byID, whole} {
				if got, err := f(t.Context(), r); got != "paid" || err != nil {
					t.Errorf("%+v: %q, %v", r, got, err)
				}
			}
		}
		calls := s.Calls(testkit.Wait)
		key := func(request, f int) string { return calls[3*request+f].Key }
		if key(0, 0) != key(1, 0) || key(0, 0) == key(2, 0) || key(0, 1) != key(1, 1) || key(0, 1) == key(2, 1) {
			t.Errorf("keys do not follow the parameters: %v", calls)
		}
		if key(0, 2) != "shop:pay" || key(2, 2) != "shop:pay" {
			t.Errorf("keys without parameters: %q, %q", key(0, 2), key(2, 2))
		}
		if svc.paid[1] != 6 || svc.paid[2] != 3 {
			t.Errorf("paid %v", svc.paid)
		}
		fails := distlock.Wrap(l, func(context.Context, int) (int, error) { return 7, errMine }, distlock.Opts{Value: "f"})
		if got, err := fails(t.Context(), 1); got != 7 || err != errMine { //nolint:errorlint // the same value
			t.Errorf("%d, %v", got, err)
		}
		// The same parameter gives the same key in every form.
		byString := distlock.Opts{Prefix: "shop:", Value: "pay-id", ParamLock: true}
		if k, err := wiring.Key(byString, int64(1)); err != nil || k != key(0, 1) {
			t.Errorf("Key(1) = %q, %v; By gave %q", k, err, key(0, 1))
		}
	})
}

// What a program declares wrongly ends it at once, not at the first lock.
func TestWiringRefusesNonsense(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	ok := distlock.Opts{Value: "f"}
	f := func(context.Context, int) (string, error) { return "", nil }
	by := distlock.By(func(s string) any { return s })
	wrap := func(o distlock.Opts) func() { return func() { distlock.Wrap(l, f, o) } }
	locker := func(cfg distlock.Config) func() { return func() { distlock.New(s, cfg) } }
	long := strings.Repeat("n", 65)
	for want, wire := range map[string]func(){
		"distlock: New: nil Backend":                                                           func() { distlock.New(nil, distlock.Config{}) },
		"distlock: Config.MaxWaiters is negative: -2":                                          locker(distlock.Config{MaxWaiters: -2}),
		"distlock: Config.CloseTimeout is negative: -1ns":                                      locker(distlock.Config{CloseTimeout: -1}),
		"distlock: Config.HandOverTime is below -1: -2ns":                                      locker(distlock.Config{HandOverTime: -2}),
		"distlock: Config.Holder is longer than 64 bytes: \"" + long + "\"":                    locker(distlock.Config{Holder: long}),
		`distlock: Config.Holder has other characters than letters, digits and -._/: "web 3"`:  locker(distlock.Config{Holder: "web 3"}),
		`distlock: Config.Holder has other characters than letters, digits and -._/: "a@b"`:    locker(distlock.Config{Holder: "a@b"}),
		`distlock: Config.Holder has other characters than letters, digits and -._/: "\u00fc"`: locker(distlock.Config{Holder: "\u00fc"}),
		"distlock: LogHooks: nil Logger":                                                       func() { distlock.LogHooks(nil) },
		"distlock: Keyed: the secret has 0 bytes: at least 16":                                 func() { distlock.Keyed(nil) },
		"distlock: Keyed: the secret has 15 bytes: at least 16":                                func() { distlock.Keyed([]byte("0123456789abcde")) },
		"distlock: nil Locker":                                                                 func() { distlock.Wrap(nil, f, ok) },
		"distlock: Wrap: nil Func[int, string]":                                                func() { distlock.Wrap[int, string](l, nil, ok) },
		"distlock: options: Value is empty":                                                    wrap(distlock.Opts{}),
		`distlock: options "f": KeyTimeout is negative: -1s`:                                   wrap(distlock.Opts{Value: "f", KeyTimeout: -time.Second}),
		"distlock: Wrap: Params takes string but the request is a int":                         wrap(distlock.Opts{Value: "f", ParamLock: true, Params: by}),
		`distlock: options "f": Params is set but ParamLock is false`:                          wrap(distlock.Opts{Value: "f", Params: by}),
		`distlock: options "f": Counter.add: RetryCount is negative: -1`:                       func() { wiring.NewSite("Counter.add", distlock.Opts{Value: "f", RetryCount: -1}) },
	} {
		wantPanic(t, want, wire)
	}
	wantPanic(t, "distlock: nil Locker", func() { wiring.Bind(nil, ok) })
}
