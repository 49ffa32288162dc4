package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/lockui"
	"github.com/distlock-go/distlock/telemetry/otellock"
	"github.com/distlock-go/distlock/telemetry/promlock"
)

// A program logs, measures and traces its locks, and shows them on a page.
func Example() {
	backend, mux := memlock.New(), http.NewServeMux()

	locks := promlock.New() // a Prometheus collector
	prometheus.MustRegister(locks)
	locker := distlock.New(backend, distlock.Config{
		Hooks: distlock.JoinHooks(distlock.LogHooks(slog.Default()), locks.Hooks(), otellock.Hooks()),
	})
	ui := lockui.New(locker) // read-only
	mux.Handle("/locks/", http.StripPrefix("/locks", ui))

	defer locker.Close()
	mux.Handle("/metrics", promhttp.Handler())
	show := func(path string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	err := locker.Do(context.Background(), "u1", distlock.Opts{Prefix: "shop:"}, func(context.Context) error {
		fmt.Println(show("/locks/").Code, show("/metrics").Code)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 200 200
	// <nil>
}
