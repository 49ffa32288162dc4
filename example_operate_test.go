package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// Each error has one code. The Error says when to try again.
func ExampleCodeOf() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	lease, err := locker.Acquire(context.Background(), "report", distlock.Opts{})
	if err != nil {
		panic(err)
	}
	err = locker.Do(context.Background(), "report", distlock.Opts{RetryCount: 1}, func(context.Context) error { return nil })
	switch code := distlock.CodeOf(err); code {
	case distlock.CodeOK:
		fmt.Println("done")
	case distlock.CodeNotAcquired, distlock.CodeQueueFull:
		refused := new(distlock.Error)
		errors.As(err, &refused)
		fmt.Println(code, "- try again in", refused.RetryAfter)
	default:
		fmt.Println(code, err)
	}
	fmt.Println(distlock.CodeOf(lease.Release(context.Background())))
	// Output:
	// not_acquired - try again in 500ms
	// ok
}

// ExampleLogHooks demonstrates the lines of a lease that is lost.
func ExampleLogHooks() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelInfo, // slog.LevelDebug shows each lock
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "token" || a.Key == "held" {
				return slog.Attr{} // not the same each time
			}
			return a
		},
	}))
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.LogHooks(log)})

	report := distlock.Opts{Value: "report", MaxHold: 10 * time.Millisecond}
	_ = locker.Do(context.Background(), "daily", report, func(ctx context.Context) error {
		<-ctx.Done() // runs for too long
		return ctx.Err()
	})
	_ = locker.Close() // waits for the hooks
	// Output:
	// level=WARN msg="lock lost" name=report key=daily err="lock lost: held for MaxHold, 10ms"
}

// A nightly job in three processes, here three Lockers over one store: one of them is
// the leader and does the work. When its process ends, another one takes over.
func ExampleLocker_Lead() {
	store := memlock.New()
	type run struct {
		process int
		term    uint64
	}
	runs := make(chan run)
	nightly := func(ctx context.Context, locker *distlock.Locker, process int) error {
		night := time.NewTicker(time.Millisecond) // a short night
		defer night.Stop()

		err := locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:", Value: "report"}, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			for {
				select {
				case <-night.C:
					runs <- run{process, lease.Token()} // the report
				case <-ctx.Done(): // the leadership is lost, or the process shuts down
					return ctx.Err()
				}
			}
		})
		return err
	}

	var stop [3]context.CancelFunc
	ended := make(chan error)
	for process := range stop {
		locker := distlock.New(store, distlock.Config{})
		var ctx context.Context
		ctx, stop[process] = context.WithCancel(context.Background())
		go func() {
			defer locker.Close()
			ended <- nightly(ctx, locker, process)
		}()
	}
	var last run
	for range stop {
		r := <-runs
		fmt.Println("another process:", r.process != last.process || last.term == 0, "a later term:", r.term > last.term)
		last = r
		stop[r.process]()
		for over := false; !over; {
			select {
			case <-runs: // it does the work
			case err := <-ended:
				over = errors.Is(err, context.Canceled)
			}
		}
	}
	// Output:
	// another process: true a later term: true
	// another process: true a later term: true
	// another process: true a later term: true
}

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
