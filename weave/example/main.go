// Command example takes payments under a lock. The lock is a comment on Pay, and the
// weaver adds it to Pay:
//
//	GOWORK=off go tool orchestrion go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/weave"
)

// Shop takes payments.
type Shop struct {
	locker *distlock.Locker

	mu       sync.Mutex
	payments map[int64]int
}

// NewShop returns a Shop with the locks of l.
func NewShop(l *distlock.Locker) *Shop { return &Shop{locker: l, payments: make(map[int64]int)} }

// Pay takes a payment, unless the order is paid already. It returns the number of
// payments taken.
//
//distlock:lock prefix:shop: value:pay param:orderID keyTimeout:10s
func (s *Shop) Pay(ctx context.Context, user string, orderID int64) (taken int, err error) {
	if n := s.paid(orderID); n > 0 {
		return n, nil
	}
	fmt.Printf("%s pays for order %d\n", user, orderID)
	select { // a request to the bank
	case <-time.After(50 * time.Millisecond):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.payments[orderID]++
	return s.payments[orderID], nil
}

func (s *Shop) paid(orderID int64) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.payments[orderID]
}

func main() {
	weave.Require()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// run lets two users pay for one order at once.
func run() (err error) {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer func() { err = errors.Join(err, locker.Close()) }()
	shop := NewShop(locker)
	errs := make(chan error)
	for _, user := range []string{"ann", "bob"} {
		go func() {
			_, err := shop.Pay(context.Background(), user, 7)
			errs <- err
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		return err
	}
	fmt.Printf("order 7 was paid %d time(s)\n", shop.paid(7))
	return nil
}
