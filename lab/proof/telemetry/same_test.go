package telemetry

import (
	"bytes"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/knownrun"
	"github.com/distlock-go/distlock/telemetry/otellock"
	"github.com/distlock-go/distlock/telemetry/promlock"
)

// What OpenTelemetry exports to Prometheus is what package promlock exports: families,
// help, labels, buckets and values.
func TestSameAsPromlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := promlock.New()
		direct := prometheus.NewRegistry()
		direct.MustRegister(locks)
		exported := prometheus.NewRegistry()
		e, err := exporter.New(exporter.WithRegisterer(exported), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
		if err != nil {
			t.Fatal(err)
		}
		h := distlock.JoinHooks(locks.Hooks(), otellock.Hooks(
			otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(e))),
			otellock.WithTracerProvider(noop.NewTracerProvider())))
		knownrun.Run(t, h, func() {
			if got, want := text(t, exported), text(t, direct); got != want {
				t.Errorf("OpenTelemetry exports\n%s\npromlock exports\n%s", got, want)
			}
		})
	})
}

// text returns what a registry serves.
func text(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}
