package distlock_test

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// One part of the request is the key. A key function of an HTTP route that returns the
// same string uses the same lock.
func ExampleBy() {
	type PayRequest struct {
		OrderID string
		Amount  int
	}
	pay := distlock.NewKeyBuilder(distlock.Opts{
		Prefix: "shop:", Value: "pay",
		ParamLock: true,
		Params:    distlock.By(func(r PayRequest) any { return r.OrderID }),
	})
	route := distlock.NewKeyBuilder(distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true})

	a, _ := pay.Key(PayRequest{OrderID: "o-42", Amount: 100})
	b, _ := pay.Key(PayRequest{OrderID: "o-42", Amount: 999})
	c, _ := route.Key("o-42")
	fmt.Println(a)
	fmt.Println(a == b, a == c)
	// Output:
	// shop:pay:0a1a431dd7c9ceca66f2bd953c2ce0c6
	// true true
}

// Tags in the request type select the fields that are part of the key.
func ExampleKeyBuilder_tags() {
	type Reserve struct {
		Warehouse int    `lock:"key"`
		SKU       string `lock:"key"`
		Quantity  int
	}
	type Refund struct {
		OrderID int64
		TraceID string `lock:"-"`
	}
	show := distlock.Opts{Prefix: "shop:", Value: "stock", ParamLock: true, Hasher: distlock.Plain()}
	keys := distlock.NewKeyBuilder(show)

	a, _ := keys.Key(Reserve{Warehouse: 3, SKU: "teapot", Quantity: 1})
	b, _ := keys.Key(Refund{OrderID: 42, TraceID: "f00d"})
	fmt.Println(a)
	fmt.Println(b)
	// Output:
	// shop:stock:s(SKU=teapot,Warehouse=3)
	// shop:stock:s(OrderID=42)
}

// Account is locked by its number, independent of the owner.
type Account struct {
	Number string
	Owner  string
}

// LockKey is the key of an Account wherever it is a parameter.
func (a Account) LockKey() string { return a.Number }

// A type with LockKey defines its own key, alone or as a part of other parameters.
func ExampleKeyBuilder_lockKey() {
	keys := distlock.NewKeyBuilder(distlock.Opts{
		Prefix: "bank:", Value: "transfer", ParamLock: true, Hasher: distlock.Plain(),
	})
	from := Account{Number: "DE-01", Owner: "Ada"}
	to := &Account{Number: "DE-02", Owner: "Bob"}

	key, _ := keys.Key([]any{from, to})
	fmt.Println(key)
	// Output: bank:transfer:(DE-01,DE-02)
}

func ExamplePlain() {
	keys := distlock.NewKeyBuilder(distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: distlock.Plain(),
	})
	for _, params := range []any{42, "42", "u1", "a b/{c}", []any{"u1", 7}, nil} {
		key, err := keys.Key(params)
		fmt.Println(key, err)
	}
	// Output:
	// shop:pay:42 <nil>
	// shop:pay:'42 <nil>
	// shop:pay:u1 <nil>
	// shop:pay:a%20b%2F%7Bc%7D <nil>
	// shop:pay:(u1,7) <nil>
	// shop:pay:nil <nil>
}

func ExampleKeyed() {
	secret := []byte("at least 16 bytes, from a secret store")
	keys := distlock.NewKeyBuilder(distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: distlock.Keyed(secret),
	})
	key, _ := keys.Key("customer-42")
	fmt.Println(key)
	// Output: shop:pay:157cbd1d6bfef991a1f0cdca3a759bc7
}

func ExampleHasher() {
	// 256 bits, where a policy requires them.
	full := func(dst, encoded []byte) []byte {
		return fmt.Appendf(dst, "%x", sha256.Sum256(encoded))
	}
	keys := distlock.NewKeyBuilder(distlock.Opts{Value: "pay", ParamLock: true, Hasher: full})
	key, _ := keys.Key("customer-42")
	fmt.Println(key)
	// Output: pay:60f309e66c9729e11588e3265f380e553b8fcdea728f137a0535937f3e05b139
}

func ExampleKeyBuilder_Key_error() {
	type Item struct{ Callback any }
	type Req struct{ Items []Item }
	keys := distlock.NewKeyBuilder(distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true})
	_, err := keys.Key(Req{Items: []Item{{Callback: 1}, {Callback: func() {}}}})
	fmt.Println(err)
	// Output: distlock: key: invalid lock key: parameters of "shop:pay": distlock_test.Req.Items[1].Callback: func() cannot take part in a key; leave it out with `lock:"-"`
}

// A function of several parameters: the accounts are the key, the amount is not.
func ExampleSite_Do() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	site := locker.Site(distlock.Opts{Prefix: "shop:", Value: "transfer", ParamLock: true})
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
