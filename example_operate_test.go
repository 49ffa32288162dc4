package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// unplugged is a store that does not answer.
type unplugged struct{ driver.Backend }

func (unplugged) Ping(context.Context) error {
	return errors.New("dial tcp 10.1.2.3:6379: connect: connection refused")
}

// Ping is for health checks.
func ExampleLocker_Ping() {
	for _, store := range []driver.Backend{memlock.New(), unplugged{memlock.New()}} {
		w := httptest.NewRecorder()
		health(distlock.New(store, distlock.Config{}), w)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 503
}

func health(locker *distlock.Locker, w http.ResponseWriter) {
	defer locker.Close()
	healthz := func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := locker.Ping(ctx); err != nil { // log it; clients should not see it
			http.Error(w, "locks are unavailable", http.StatusServiceUnavailable)
		}
	}
	healthz(w, httptest.NewRequest("GET", "/healthz", nil))
}

// An operator lists the holders, and takes a key away from a holder that is stuck.
func ExampleLocker_Inspect() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()
	stuck, err := locker.Acquire(ctx, "report", distlock.Opts{Prefix: "leader:"})
	if err != nil {
		log.Fatal(err)
	}

	locks, err := locker.Inspect(ctx, "leader:", 100)
	for _, lock := range locks {
		fmt.Println(lock.Key, lock.Held, lock.Waiting)
	}
	if err != nil {
		log.Fatal(err)
	}
	held, err := locker.ForceRelease(ctx, "leader:report")

	fmt.Println(held, err, stuck.Release(ctx) != nil)
	// Output:
	// leader:report 1 0
	// true <nil> true
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
