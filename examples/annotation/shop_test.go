package shop

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// Without the lock the function does not run: the results are zero, and the error gives
// the reason.
func TestBusy(t *testing.T) {
	l, _ := newLocker(t)
	bank := &Bank{Paid: map[int64]int{42: 1}}
	pay := NewLockedPayments(bank, l)
	held, err := l.Acquire(t.Context(), distlock.Key("order", 42), distlock.Opts{Prefix: "shop:"})
	if err != nil {
		t.Fatal(err)
	}
	if err := pay.Refund(t.Context(), Receipt{OrderID: 42}); !errors.Is(err, distlock.ErrNotAcquired) {
		t.Errorf("held by another: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	receipt, err := pay.Pay(ctx, "ada", 42)
	if receipt != (Receipt{}) || !errors.Is(err, distlock.ErrNotAcquired) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %+v, %v", receipt, err)
	}
	if bank.Paid[42] != 1 {
		t.Error("it ran without the lock")
	}
	if err := held.Release(t.Context()); err != nil {
		t.Error(err)
	}
	receipt, err = pay.Pay(t.Context(), "ada", 42)
	if receipt != (Receipt{42, "ada paid 42"}) || err != nil || bank.Paid[42] != 2 {
		t.Errorf("%+v, %v", receipt, err)
	}
	if rate := pay.Rate(); rate != 7 {
		t.Errorf("what is not annotated: %d", rate)
	}
}

// The function runs with the lease in its context, and its error is returned as it is.
func TestInside(t *testing.T) {
	l, _ := newLocker(t)
	s := NewService(l)
	mine := errors.New("mine")
	if err := s.NightlyReport(t.Context(), func(ctx context.Context) error {
		if lease, ok := distlock.FromContext(ctx); !ok || lease.Key() != "shop:report" || lease.Check() != nil {
			t.Errorf("lease %v, %v", lease, ok)
		}
		return mine
	}); err != mine { //nolint:errorlint // the same value
		t.Errorf("got %v, want the function's own error", err)
	}
	token, err := s.Invoice(t.Context(), "1")
	if token == 0 || err != nil {
		t.Errorf("token %d, %v", token, err)
	}
}

// A missing Locker is an error that names the function, or a panic of the constructor
// of the decorator, and never a call without the lock.
func TestNoLocker(t *testing.T) {
	err := NewService(nil).Raise(t.Context(), "tea", 1)
	if want := `distlock: options "shop:prices": Service.raise: the Locker is nil`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (&Counter{}).Test(t.Context(), "a", 1, nil); err == nil {
		t.Error("no error from a package without its Locker")
	}
	for want, wire := range map[string]func(){
		"distlock: nil Locker":                      func() { NewLockedPayments(&Bank{}, nil) },
		"distlock: NewLockedPayments: nil Payments": func() { NewLockedPayments(nil, nil) },
	} {
		func() {
			defer func() {
				if r := recover(); r != want {
					t.Errorf("recovered %v, want %s", r, want)
				}
			}()
			wire()
		}()
	}
}

// One comment is enough.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	service := NewService(locker)
	fmt.Println(service.Raise(ctx, "tea", 3))
	fmt.Println(service.Price(ctx, "tea"))

	payments := NewLockedPayments(&Bank{Paid: map[int64]int{}}, locker)
	receipt, err := payments.Pay(ctx, "ada", 42)
	fmt.Println(receipt.Text, err)
	// Output:
	// <nil>
	// 3 <nil>
	// ada paid 42 <nil>
}
