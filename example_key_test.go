package distlock_test

import (
	"crypto/sha256"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/wiring"
)

// One part of the request is the key. A key function of an HTTP route that returns the
// same string uses the same lock.
func ExampleBy() {
	type PayRequest struct {
		OrderID string
		Amount  int
	}
	pay := distlock.Opts{
		Prefix: "shop:", Value: "pay",
		ParamLock: true,
		Params:    distlock.By(func(r PayRequest) any { return r.OrderID }),
	}
	route := distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true}

	a, _ := wiring.Key(pay, PayRequest{OrderID: "o-42", Amount: 100})
	b, _ := wiring.Key(pay, PayRequest{OrderID: "o-42", Amount: 999})
	c, _ := wiring.Key(route, "o-42")
	fmt.Println(a)
	fmt.Println(a == b, a == c)
	// Output:
	// shop:pay:0a1a431dd7c9ceca66f2bd953c2ce0c6
	// true true
}

func ExamplePlain() {
	pay := distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: distlock.Plain(),
	}
	for _, params := range []any{42, "42", "u1", "a b/{c}", []any{"u1", 7}, nil} {
		key, err := wiring.Key(pay, params)
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
	pay := distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: distlock.Keyed(secret),
	}
	key, _ := wiring.Key(pay, "customer-42")
	fmt.Println(key)
	// Output: shop:pay:157cbd1d6bfef991a1f0cdca3a759bc7
}

func ExampleHasher() {
	// 256 bits, where a policy requires them.
	full := func(dst, encoded []byte) []byte {
		return fmt.Appendf(dst, "%x", sha256.Sum256(encoded))
	}
	pay := distlock.Opts{Value: "pay", ParamLock: true, Hasher: full}
	key, _ := wiring.Key(pay, "customer-42")
	fmt.Println(key)
	// Output: pay:60f309e66c9729e11588e3265f380e553b8fcdea728f137a0535937f3e05b139
}
