package distlock_test

import (
	"context"
	"fmt"
	"log"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// A transfer needs both accounts. The order in which callers name them does not matter:
// two callers never wait for each other.
func ExampleLocker_DoAll() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	balance := map[string]int{"alice": 100, "bob": 20}

	transfer := func(ctx context.Context, from, to string, amount int) error {
		accounts := distlock.Opts{Prefix: "account:"}
		return locker.DoAll(ctx, []string{from, to}, accounts, func(context.Context) error {
			balance[from] -= amount
			balance[to] += amount
			return nil
		})
	}

	done := make(chan error)
	go func() { done <- transfer(context.Background(), "alice", "bob", 30) }()
	go func() { done <- transfer(context.Background(), "bob", "alice", 5) }()
	for range 2 {
		if err := <-done; err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(balance["alice"], balance["bob"])
	// Output: 75 45
}

// AcquireAll is for code that is not a function. Each lease has its own token.
func ExampleLocker_AcquireAll() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	leases, err := locker.AcquireAll(context.Background(), []string{"tea", "cup"}, distlock.Opts{Prefix: "stock:"})
	if err != nil {
		log.Fatal(err)
	}
	for _, lease := range leases.Leases() {
		fmt.Println(lease.Key(), lease.Token() > 0)
	}
	fmt.Println(leases.Check() == nil, leases.Release(context.Background()))
	// Output:
	// stock:cup true
	// stock:tea true
	// true <nil>
}
