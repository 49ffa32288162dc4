package test

import (
	"context"
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

func TestWrapRefusesNonsense(t *testing.T) {
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	ok := distlock.Opts{Value: "f"}
	f := func(context.Context, int) (string, error) { return "", nil }
	by := distlock.By(func(s string) any { return s })
	for want, wire := range map[string]func(){
		"distlock: nil Locker":                               func() { distlock.Wrap(nil, f, ok) },
		"distlock: Wrap: nil Func[int, string]":              func() { distlock.Wrap[int, string](l, nil, ok) },
		"distlock: options: Value is empty":                  func() { distlock.Wrap(l, f, distlock.Opts{}) },
		`distlock: options "f": KeyTimeout is negative: -1s`: func() { distlock.Wrap(l, f, distlock.Opts{Value: "f", KeyTimeout: -time.Second}) },
		"distlock: Wrap: Params takes string but the request is a int": func() {
			distlock.Wrap(l, f, distlock.Opts{Value: "f", ParamLock: true, Params: by})
		},
		`distlock: options "f": Params is set but ParamLock is false`: func() {
			distlock.Wrap(l, f, distlock.Opts{Value: "f", Params: by})
		},
	} {
		wantPanic(t, want, wire)
	}
}
