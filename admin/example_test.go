package admin_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
)

// unplugged is a store that does not answer.
type unplugged struct{ driver.Backend }

func (unplugged) Ping(context.Context) error {
	return errors.New("dial tcp 10.1.2.3:6379: connect: connection refused")
}

// Ping is for health checks.
func ExamplePing() {
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
		if err := admin.Ping(ctx, locker); err != nil { // log it; clients should not see it
			http.Error(w, "locks are unavailable", http.StatusServiceUnavailable)
		}
	}
	healthz(w, httptest.NewRequest("GET", "/healthz", nil))
}

// An operator lists the holders, and takes a key away from a holder that is stuck.
func ExampleInspect() {
	locker := distlock.New(memlock.New(), distlock.Config{})
	defer locker.Close()
	ctx := context.Background()
	stuck, err := locker.Acquire(ctx, "report", distlock.Opts{Prefix: "leader:"})
	if err != nil {
		log.Fatal(err)
	}

	locks, err := admin.Inspect(ctx, locker, "leader:", 100)
	for _, lock := range locks {
		fmt.Println(lock.Key, lock.Held, lock.Waiting)
	}
	if err != nil {
		log.Fatal(err)
	}
	held, err := admin.ForceRelease(ctx, locker, "leader:report")

	fmt.Println(held, err, stuck.Release(ctx) != nil)
	// Output:
	// leader:report 1 0
	// true <nil> true
}
