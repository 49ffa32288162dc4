package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// ledger has a draft that counts only after it is published.
type ledger struct {
	draft, booked int
	during        func() // called while it is written
}

func (l *ledger) write(ctx context.Context) error {
	l.draft += 100
	if l.during != nil {
		l.during()
		<-ctx.Done()
	}
	return nil // it ignores the loss
}

func (l *ledger) publish(context.Context) error { l.booked, l.draft = l.booked+l.draft, 0; return nil }
func (l *ledger) discard(context.Context) error { l.draft = 0; return nil }

// Step checks the lease before the work, before the commit and after it. If the lock is
// lost during the work, the draft is discarded and not booked.
func ExampleLease_Step() {
	store := memlock.New()
	locker := distlock.New(store, distlock.Config{})
	defer locker.Close()
	ctx := context.Background()
	o := distlock.Opts{KeyTimeout: 2 * time.Second}

	books := &ledger{}
	post := func() error {
		return locker.Do(ctx, "ledger", o, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			return lease.Step(ctx, distlock.Step{
				Do:     books.write,
				Commit: books.publish, // only if the lease is still valid
				Undo:   books.discard, // if it is not valid, or if Do or Commit failed
			})
		})
	}
	fmt.Println(post(), books.booked, books.draft)

	books.during = func() { store.Drop("ledger") } // as an operator could do
	fmt.Println("lost:", errors.Is(post(), distlock.ErrLost), books.booked, books.draft)
	// Output:
	// <nil> 100 0
	// lost: true 100 0
}
