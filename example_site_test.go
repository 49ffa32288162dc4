package distlock_test

import (
	"context"
	"fmt"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

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
