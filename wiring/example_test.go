package wiring_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/wiring"
)

// Tags in the request type select the fields that are part of the key.
func ExampleKey_tags() {
	type Reserve struct {
		Warehouse int    `lock:"key"`
		SKU       string `lock:"key"`
		Quantity  int
	}
	type Refund struct {
		OrderID int64
		TraceID string `lock:"-"`
	}
	show := distlock.Opts{Prefix: "shop:", Value: "stock", ParamLock: true}

	a, _ := wiring.Key(show, Reserve{Warehouse: 3, SKU: "teapot", Quantity: 1})
	b, _ := wiring.Key(show, Refund{OrderID: 42, TraceID: "f00d"})
	fmt.Println(a)
	fmt.Println(b)
	// Output:
	// shop:stock:3:teapot
	// shop:stock:42
}

// Account is locked by its number, independent of the owner.
type Account struct {
	Number string
	Owner  string
}

// LockKey is the key of an Account wherever it is a parameter.
func (a Account) LockKey() string { return a.Number }

// A type with LockKey defines its own key, alone or as a part of other parameters.
func ExampleKey_lockKey() {
	pay := distlock.Opts{
		Prefix: "bank:", Value: "transfer", ParamLock: true,
	}
	from := Account{Number: "DE-01", Owner: "Ada"}
	to := &Account{Number: "DE-02", Owner: "Bob"}

	key, _ := wiring.Key(pay, []any{from, to})
	fmt.Println(key)
	// Output: bank:transfer:DE-01:DE-02
}

// A function of several parameters: the accounts are the key, the amount is not.
func ExampleSite_Do() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	site := wiring.Bind(locker, distlock.Opts{Prefix: "shop:", Value: "transfer", ParamLock: true})
	transfer := func(ctx context.Context, from, to string, amount int) error {
		return site.Do(ctx, []any{from, to}, func(context.Context) error {
			fmt.Println("transfer", amount, "from", from, "to", to)
			return nil
		})
	}

	if err := transfer(context.Background(), "a-1", "a-2", 30); err != nil {
		fmt.Println(err)
	}
	// Output: transfer 30 from a-1 to a-2
}
