package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// prices is read often and changed rarely.
type prices struct{ list map[string]int }

func (p *prices) quote(_ context.Context, sku string) (int, error) { return p.list[sku], nil }

func (p *prices) raise(_ context.Context, percent int) (int, error) {
	for sku, price := range p.list {
		p.list[sku] = price + price*percent/100
	}
	return len(p.list), nil
}

// Readers run together, and a writer runs alone: two functions use one key in two
// modes.
func ExampleOpts_shared() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	list := &prices{list: map[string]int{"tea": 100, "milk": 50}}
	quote := distlock.Wrap(locker, list.quote, distlock.Opts{
		Prefix: "shop:", Value: "prices",
		Mode: distlock.Shared, // together with other readers
	})
	raise := distlock.Wrap(locker, list.raise, distlock.Opts{
		Prefix: "shop:", Value: "prices", // alone
	})
	before, _ := quote(ctx, "tea")
	changed, _ := raise(ctx, 10)
	after, _ := quote(ctx, "tea")
	fmt.Println(before, changed, after)

	// A reader cannot become a writer: it would wait for itself.
	err := locker.Do(ctx, "prices", distlock.Opts{Prefix: "shop:", Mode: distlock.Shared}, func(ctx context.Context) error {
		_, err := raise(ctx, 10)
		return err
	})
	fmt.Println("upgrade:", errors.Is(err, distlock.ErrUpgrade))
	// Output:
	// 100 2 110
	// upgrade: true
}

// At most two processes convert at the same time.
func ExampleOpts_permits() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	var inside, most atomic.Int32
	convert := distlock.Wrap(locker, func(_ context.Context, image string) (string, error) {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		<-time.After(time.Millisecond) // the work
		return image + ".webp", nil
	}, distlock.Opts{
		Prefix: "media:", Value: "convert",
		Permits: 2, // at most two at once, over all processes
	})

	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { _, _ = convert(ctx, fmt.Sprint("image-", i)) })
	}
	all.Wait()
	fmt.Println("more than two at once:", most.Load() > 2)
	// Output: more than two at once: false
}
