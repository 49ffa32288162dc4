package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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
