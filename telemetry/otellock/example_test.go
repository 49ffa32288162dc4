package otellock_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/telemetry/otellock"
)

// The hooks use the providers that the program has set up.
func Example() {
	ctx := context.Background()
	reader := sdkmetric.NewManualReader()       // in a program: a PeriodicReader
	exporter := tracetest.NewInMemoryExporter() // in a program: otlptracegrpc or otlptracehttp
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	otel.SetTracerProvider(tracers)

	locker := distlock.New(memlock.New(), distlock.Config{Hooks: otellock.Hooks()})
	defer locker.Close()

	requestCtx, request := tracers.Tracer("shop").Start(ctx, "POST /orders")
	if err := locker.Do(requestCtx, "7", distlock.Opts{Prefix: "shop:", Value: "pay"}, func(ctx context.Context) error {
		_, query := tracers.Tracer("shop").Start(ctx, "UPDATE stock")
		defer query.End()
		return nil
	}); err != nil {
		fmt.Println(err)
	}
	request.End()

	for _, span := range exporter.GetSpans() {
		fmt.Printf("%s, child of the request: %v\n", span.Name, span.Parent.SpanID() == request.SpanContext().SpanID())
	}
	var data metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &data); err != nil {
		fmt.Println(err)
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, ok := m.Data.(metricdata.Histogram[float64]); ok {
				fmt.Println(m.Name, h.DataPoints[0].Count)
			}
		}
	}
	// Output:
	// acquire shop:pay, child of the request: true
	// UPDATE stock, child of the request: true
	// hold shop:pay, child of the request: true
	// POST /orders, child of the request: false
	// distlock.wait.duration 1
	// distlock.hold.duration 1
}
