package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
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

// At most four exports run at the same time, over all processes.
func ExampleOpts_permits() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	var inside, most atomic.Int32
	export := func(context.Context) error {
		most.Store(max(most.Load(), inside.Add(1)))
		defer inside.Add(-1)
		<-time.After(time.Millisecond) // the work
		return nil
	}
	limited := func() error {
		return locker.Do(ctx, "export", distlock.Opts{
			Prefix:  "shop:",
			Value:   "export",
			Permits: 4,
			MaxWait: time.Minute,
			MaxHold: 10 * time.Minute, // an export that hangs gives its permit to another process
		}, export)
	}

	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _ = limited() })
	}
	all.Wait()
	fmt.Println("more than four at once:", most.Load() > 4)
	// Output: more than four at once: false
}

// A job that cron starts on every machine runs once, although it is quick and the
// clocks differ by some minutes.
func ExampleOpts_minHold() {
	store := memlock.New()
	ctx := context.Background()
	report := func(context.Context) error { fmt.Println("the report is written"); return nil }

	cron := func(machine string) {
		locker := distlock.New(store, distlock.Config{})
		defer locker.Close()

		err := locker.Do(ctx, "report", distlock.Opts{
			Prefix:     "cron:",
			Value:      "report",         // the name in metrics is cron:report
			RetryCount: 1,                // skip if another process has it
			MinHold:    10 * time.Minute, // longer than clocks differ, shorter than the period
		}, report)
		switch {
		case errors.Is(err, distlock.ErrUnavailable):
			fmt.Println(machine, "cannot tell:", err)
		case errors.Is(err, distlock.ErrNotAcquired):
			fmt.Println(machine, "skips")
		case err != nil:
			fmt.Println(machine, "failed:", err)
		}
	}
	for _, machine := range []string{"a", "b", "c"} { // one after the other, because their clocks differ
		cron(machine)
	}
	// Output:
	// the report is written
	// b skips
	// c skips
}

// If the resource checks the token, a lock without a token is refused.
func ExampleOpts_fencing() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	lease, err := locker.Acquire(ctx, "file", distlock.Opts{Fencing: true})
	if errors.Is(err, distlock.ErrNoFencing) {
		fmt.Println("take another backend")
		return
	}
	defer lease.Release(ctx)
	fmt.Println(lease.Token() > 0)
	// Output: true
}

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

// transfer is a transaction of a database that is rolled back if ctx ends before it
// is committed, as with the ctx of sql.DB.BeginTx.
func transfer(ctx context.Context) error {
	deadline, ok := ctx.Deadline()
	fmt.Println("rolled back if not committed in time:", ok, time.Until(deadline) > 20*time.Second)
	return ctx.Err()
}

// A transaction must end within the lease as it is when the transaction begins: at a
// later commit another holder may have the lock. Work that takes longer than the lease
// is done before, while the watchdog renews the lease.
func ExampleLease_Until() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	o := distlock.Opts{Prefix: "bank:", KeyTimeout: 30 * time.Second}
	err := locker.Do(context.Background(), "account:7", o, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		if time.Until(lease.Until()) < 10*time.Second { // not enough for the transaction
			if err := lease.Refresh(ctx); err != nil {
				return err
			}
		}
		ctx, cancel := context.WithDeadline(ctx, lease.Until())
		defer cancel()
		return transfer(ctx)
	})
	fmt.Println(err)
	// Output:
	// rolled back if not committed in time: true true
	// <nil>
}

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

// Code that must not run without its lock asserts it, whoever calls it.
func ExampleHeld() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	withdraw := func(ctx context.Context, account string) error {
		lease, ok := distlock.Held(ctx, "account:"+account)
		if !ok {
			return errors.New("withdraw: the account is not locked")
		}
		fmt.Println("withdraw with token", lease.Token())
		return nil
	}
	ctx := context.Background()
	fmt.Println(withdraw(ctx, "7"))
	err := locker.DoAll(ctx, []string{"7", "8"}, distlock.Opts{Prefix: "account:"}, func(ctx context.Context) error {
		return withdraw(ctx, "7") // FromContext has the lease of account 8
	})
	fmt.Println(err)
	// Output:
	// withdraw: the account is not locked
	// withdraw with token 1
	// <nil>
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

// priceList refuses a holder that is older than the holder that wrote last.
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
