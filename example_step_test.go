package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// price is what the list says of an article, and the token of the holder that wrote it.
type price struct {
	cents int
	by    uint64
}

// priceList refuses a holder that is older than the one that wrote last.
type priceList struct {
	of     map[string]price
	during func(ctx context.Context, sku string) // called while a price is written
}

func (l *priceList) set(ctx context.Context, sku string, p price) error {
	if l.of[sku].by > p.by {
		return errors.New("a newer holder has written " + sku)
	}
	l.of[sku] = p
	l.during(ctx, sku)
	return nil // it ignores the loss
}

// restore puts back what was there before the holder with that token wrote. What another
// holder has written since is not touched.
func (l *priceList) restore(sku string, before price, token uint64) error {
	if l.of[sku].by == token {
		l.of[sku] = before
	}
	return nil
}

// Two steps run under one lock. Each records the state before it, and restores that if the
// lock is lost before the step is over. A step that is over stays.
func ExampleLease_Step_restore() {
	store := memlock.New()
	locker := distlock.New(store, distlock.Config{})
	defer locker.Close()
	prices := &priceList{of: map[string]price{"tea": {cents: 300}, "pot": {cents: 2000}}}
	prices.during = func(ctx context.Context, sku string) {
		if sku == "pot" { // the lock is lost while the second step runs
			store.Drop("prices")
			<-ctx.Done()
		}
	}

	o := distlock.Opts{KeyTimeout: 2 * time.Second}
	err := locker.Do(context.Background(), "prices", o, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		for _, sku := range []string{"tea", "pot"} { // one step after the other, under one lock
			before := prices.of[sku] // recorded, to be restored
			err := lease.Step(ctx, distlock.Step{
				Do: func(ctx context.Context) error {
					return prices.set(ctx, sku, price{before.cents + 10, lease.Token()})
				},
				Undo: func(context.Context) error { return prices.restore(sku, before, lease.Token()) },
			})
			if err != nil {
				return err // the next step does not begin
			}
		}
		return nil
	})
	fmt.Println("lost:", errors.Is(err, distlock.ErrLost))
	fmt.Println("tea", prices.of["tea"].cents, "pot", prices.of["pot"].cents)
	// Output:
	// lost: true
	// tea 310 pot 2000
}
