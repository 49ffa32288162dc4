package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/promlock"
)

// newMetrics returns hooks that count what happens to the locks, and the handler that
// Prometheus reads. grafana/dashboard.json shows the counts, and prometheus/alerts.yml
// says when they need attention.
func newMetrics() (distlock.Hooks, http.Handler) {
	locks := promlock.New()
	registry := prometheus.NewRegistry()
	registry.MustRegister(locks, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return locks.Hooks(), promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
