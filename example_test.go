package distlock_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/wiring"
)

// PayRequest is a request of the service.
type PayRequest struct {
	OrderID int64
	Trace   string `lock:"-"` // not part of the key
}

// Service does not know about locks.
type Service struct{}

// Pay charges the customer.
func (Service) Pay(_ context.Context, r PayRequest) (string, error) {
	return fmt.Sprintf("order %d paid", r.OrderID), nil
}

// A hundred buyers read the stock, and write back what is left. The lock of each article
// lets them do so one after the other, on all machines that share the store.
func Example() {
	locker := distlock.New(memlock.New(), distlock.Config{}) // redislock.New(rdb, redislock.Config{}) across machines
	defer locker.Close()

	stock := map[string]int{"tea": 100}
	sell := distlock.Wrap(locker, func(ctx context.Context, sku string) (int, error) {
		left := stock[sku] - 1
		runtime.Gosched() // without the lock, others read the same stock now
		stock[sku] = left
		return left, ctx.Err() // cancelled if the lock was lost
	}, distlock.Opts{Prefix: "shop:", Value: "stock", ParamLock: true})

	var buyers sync.WaitGroup
	for range 100 {
		buyers.Go(func() {
			if _, err := sell(context.Background(), "tea"); err != nil {
				fmt.Println(err)
			}
		})
	}
	buyers.Wait()
	fmt.Println(stock["tea"], "left")
	// Output: 0 left
}

// Wrap turns a method into one that runs under a lock for each order.
func ExampleWrap() {
	locker := distlock.New(memlock.New(), distlock.Config{}) // redislock.New(rdb, redislock.Config{}) across machines
	defer locker.Close()

	pay := distlock.Wrap(locker, Service{}.Pay, distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, // one lock for each order, such as shop:pay:42
		MaxWait: 3 * time.Second, // for the lock, however long Pay takes
	})
	fmt.Println(pay(context.Background(), PayRequest{OrderID: 42}))
	// Output: order 42 paid <nil>
}

// Do is for code that is not a function of one request.
func ExampleLocker_Do() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	report := func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		fmt.Println("running under", lease.Key())
		return lease.Check() // before the result is committed
	}
	nightly := distlock.Opts{Prefix: "jobs:", Value: "nightly"}
	err := locker.Do(context.Background(), "nightly", nightly, func(ctx context.Context) error {
		return report(ctx) // on one machine at a time; ctx is cancelled if the lock is lost
	})
	fmt.Println(err)
	// Output:
	// running under jobs:nightly
	// <nil>
}

// Call is Do with a result.
func ExampleCall() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	n, err := distlock.Call(context.Background(), locker, "stock", distlock.Opts{},
		func(context.Context) (int, error) { return 100, nil })
	fmt.Println(n, err)
	// Output: 100 <nil>
}

// Acquire is for code that cannot be a function. The caller releases the lease, and
// passes its context on.
func ExampleLocker_Acquire() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	lease, err := locker.Acquire(ctx, "report", distlock.Opts{KeyTimeout: 30 * time.Second, MaxHold: 10 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := lease.Release(ctx); errors.Is(err, distlock.ErrLost) {
			fmt.Println("somebody else may have written meanwhile")
		}
	}()
	_, ok := distlock.FromContext(lease.Context())
	fmt.Println(lease.Check() == nil, ok)
	// Output: true true
}

// TryAcquire does not wait. The error tells a busy lock from a store that is down.
func ExampleLocker_TryAcquire() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	lease, err := locker.TryAcquire(ctx, "report", distlock.Opts{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = locker.TryAcquire(ctx, "report", distlock.Opts{})
	switch {
	case errors.Is(err, distlock.ErrUnavailable):
		fmt.Println("the store is down")
	case errors.Is(err, distlock.ErrNotAcquired):
		fmt.Println("somebody else is at it")
	}
	fmt.Println(lease.Release(ctx))
	// Output:
	// somebody else is at it
	// <nil>
}

// A resource that records the largest token is protected against a holder that was
// paused and does not know that its lease has ended.
func ExampleLease_Token() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()

	var largest uint64 // kept by the resource
	write := func(token uint64) string {
		if token < largest {
			return "refused"
		}
		largest = token
		return "written"
	}

	old, _ := locker.Acquire(ctx, "file", distlock.Opts{})
	_ = old.Release(ctx) // or it expired while the process was paused
	fresh, _ := locker.Acquire(ctx, "file", distlock.Opts{})
	fmt.Println(write(fresh.Token()), write(old.Token()))
	_ = fresh.Release(ctx)
	// Output: written refused
}

// Code called by a locked function re-enters the same key. A goroutine that may outlive
// the function needs Detach.
func ExampleDetach() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	done := make(chan error)
	_ = locker.Do(context.Background(), "k", distlock.Opts{}, func(ctx context.Context) error {
		err := locker.Do(ctx, "k", distlock.Opts{}, func(context.Context) error { return nil })
		fmt.Println("re-entered:", err)

		free := distlock.Detach(ctx)
		go func() { // waits for the lock like any other caller
			done <- locker.Do(free, "k", distlock.Opts{}, func(context.Context) error { return nil })
		}()
		return nil
	})
	fmt.Println("detached:", <-done)
	// Output:
	// re-entered: <nil>
	// detached: <nil>
}

// Hooks count locks without changes of the code that locks. The label is the name and
// never the key: callers choose keys.
func ExampleHooks() {
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.Hooks{
		Event: func(_ context.Context, e distlock.Event) {
			switch e.Kind {
			case distlock.Acquired, distlock.Released, distlock.Lost:
				fmt.Println(e.Kind, e.Name, e.Err)
			}
		},
	}})
	defer locker.Close()

	pay := distlock.Wrap(locker, Service{}.Pay, distlock.Opts{Prefix: "shop:", Value: "pay", ParamLock: true})
	_, _ = pay(context.Background(), PayRequest{OrderID: 1})
	// Output:
	// acquired shop:pay <nil>
	// released shop:pay <nil>
}

// Traces and metrics are separate hooks. The values that Start puts into the context
// are there in all later events.
func ExampleJoinHooks() {
	type spanKey struct{}
	traces := distlock.Hooks{
		Start: func(ctx context.Context, e distlock.Event) context.Context {
			return context.WithValue(ctx, spanKey{}, "span of "+e.Name)
		},
		Event: func(ctx context.Context, e distlock.Event) {
			if e.Kind == distlock.Released {
				fmt.Println("end of the", ctx.Value(spanKey{}))
			}
		},
	}
	metrics := distlock.Hooks{
		Event: func(_ context.Context, e distlock.Event) {
			if e.Kind == distlock.Released {
				fmt.Println("one more", e.Name, e.Mode)
			}
		},
	}
	locker := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.JoinHooks(traces, metrics)})
	defer locker.Close()

	_ = locker.Do(context.Background(), "42", distlock.Opts{Prefix: "shop:"}, func(context.Context) error { return nil })
	// Output:
	// one more shop: exclusive
	// end of the span of shop:
}

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
	// shop:pay:o-42
	// true true
}

// A function of several parameters: it has the key of a function with a comment, of a struct
// with these two fields, and of what a person writes by hand.
func ExampleKey() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()

	transfer := func(ctx context.Context, from, to string, amount int) error {
		o := distlock.Opts{Prefix: "shop:", Value: "transfer"}
		return locker.Do(ctx, distlock.Key("transfer", from, to), o, func(ctx context.Context) error {
			lease, _ := distlock.FromContext(ctx)
			fmt.Println(amount, "under", lease.Key())
			return nil
		})
	}
	_ = transfer(context.Background(), "alice", "bob", 30)
	_ = transfer(context.Background(), "a:b (c)", "50%", 30)
	fmt.Println(transfer(context.Background(), "alice", strings.Repeat("x", 200), 30))
	// Output:
	// 30 under shop:transfer:alice:bob
	// 30 under shop:transfer:a%3Ab%20%28c%29:50%25
	// 30 under shop:transfer:~fde44dc4ab0eecf25572ce3f9886008a
	// <nil>
}

func ExampleKeyed() {
	secret := []byte("at least 16 bytes, from a secret store")
	pay := distlock.Opts{
		Prefix: "shop:", Value: "pay", ParamLock: true, Hasher: distlock.Keyed(secret),
	}
	key, _ := wiring.Key(pay, "customer-42")
	fmt.Println(key)
	// Output: shop:pay:7035bd1aca56115b8b17bcbb1377ba38
}

func ExampleHasher() {
	// 256 bits, where a policy requires them.
	full := func(key, params []byte) []byte {
		return fmt.Appendf(key, "%x", sha256.Sum256(params))
	}
	pay := distlock.Opts{Value: "pay", ParamLock: true, Hasher: full}
	key, _ := wiring.Key(pay, "customer-42")
	fmt.Println(key)
	// Output: pay:a045eb33f8797f35ea7d5fad7c5e0d021e2142e9c1bb6e9dc9f45b4f503b03e8
}

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
