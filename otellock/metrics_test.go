package otellock_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics/knownrun"
	"github.com/distlock-go/distlock/otellock"
	"github.com/distlock-go/distlock/promlock"
)

func TestKnownRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		h := otellock.Hooks(otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))))
		knownrun.Test(t, h, func() []string { return lines(t, reader) })
	})
}

// lines returns a line for each series, with the name of the family in Prometheus.
func lines(t *testing.T, reader sdkmetric.Reader) []string {
	t.Helper()
	var all []string
	for _, m := range collect(t, reader) {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range data.DataPoints {
				all = append(all, line(m.Name+"_seconds", p.Attributes)+fmt.Sprintf(" %d %v", p.Count, p.Sum))
			}
		case metricdata.Sum[int64]:
			name := m.Name
			if data.IsMonotonic {
				name += "_total"
			}
			for _, p := range data.DataPoints {
				all = append(all, line(name, p.Attributes)+fmt.Sprintf(" %d", p.Value))
			}
		default:
			t.Errorf("%s is a %T", m.Name, m.Data)
		}
	}
	return all
}

func line(name string, attrs attribute.Set) string {
	name = strings.ReplaceAll(name, ".", "_")
	for _, key := range []attribute.Key{"distlock.name", "distlock.mode", "distlock.outcome"} {
		if value, ok := attrs.Value(key); ok {
			name += " " + value.AsString()
		}
	}
	return name
}

// collect returns the metrics of the only scope.
func collect(t *testing.T, reader sdkmetric.Reader) []metricdata.Metrics {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	if len(data.ScopeMetrics) != 1 || data.ScopeMetrics[0].Scope.Name != otellock.ScopeName {
		t.Fatalf("%d scopes: %v", len(data.ScopeMetrics), data)
	}
	return data.ScopeMetrics[0].Metrics
}

// What OpenTelemetry exports to Prometheus is what package promlock exports: families,
// help, labels, buckets and values.
func TestSameAsPromlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := promlock.New()
		direct := prometheus.NewRegistry()
		direct.MustRegister(locks)
		exported := prometheus.NewRegistry()
		reader := sdkmetric.NewManualReader()
		e, err := exporter.New(exporter.WithRegisterer(exported), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
		if err != nil {
			t.Fatal(err)
		}
		h := distlock.JoinHooks(locks.Hooks(), otellock.Hooks(
			otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(e), sdkmetric.WithReader(reader))),
			otellock.WithTracerProvider(noop.NewTracerProvider())))
		knownrun.Test(t, h, func() []string {
			if got, want := text(t, exported), text(t, direct); got != want {
				t.Errorf("OpenTelemetry exports\n%s\npromlock exports\n%s", got, want)
			}
			return lines(t, reader)
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
