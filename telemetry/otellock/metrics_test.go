package otellock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/knownrun"
	"github.com/distlock-go/distlock/telemetry/otellock"
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

// The metrics of two calls of Hooks with one provider add up.
func TestTwoCalls(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	provider := otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	for range 2 {
		l := distlock.New(memlock.New(), distlock.Config{Hooks: otellock.Hooks(provider)})
		lease, err := l.Acquire(t.Context(), "k", distlock.Opts{Value: "two"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = lease.Release(context.Background())
			_ = l.Close()
		})
	}
	got := lines(t, reader)
	for _, want := range []string{"distlock_held two exclusive 2", "distlock_waiting two exclusive 0", "distlock_losses_total two exclusive 0"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// A lock with metrics needs at most two allocations more, also with spans that are not
// made, because the caller has none.
func TestAllocations(t *testing.T) {
	locked := func(h distlock.Hooks) func() {
		l := distlock.New(memlock.New(), distlock.Config{Hooks: h})
		t.Cleanup(func() { _ = l.Close() })
		return func() {
			lease, err := l.Acquire(t.Context(), "7", distlock.Opts{Prefix: "shop:", Value: "pay"})
			if err != nil {
				t.Fatal(err)
			}
			_ = lease.Release(t.Context())
		}
	}
	off := testing.AllocsPerRun(1000, locked(distlock.Hooks{}))
	on := testing.AllocsPerRun(1000, locked(otellock.Hooks(
		otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
		otellock.WithTracerProvider(sdktrace.NewTracerProvider()))))
	if on > off+2 {
		t.Errorf("%v allocations, %v without hooks", on, off)
	}
}

// The program hears of an instrument that its SDK cannot make as it should be.
func TestErrorOfAnInstrument(t *testing.T) {
	var handled error
	was := otel.GetErrorHandler()
	defer otel.SetErrorHandler(was)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { handled = errors.Join(handled, err) }))
	view := sdkmetric.NewView(sdkmetric.Instrument{Name: "distlock.held"}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationLastValue{}})
	otellock.Hooks(otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()), sdkmetric.WithView(view))))
	if handled == nil {
		t.Error("it hears nothing")
	}
}
