package otellock_test

import (
	"context"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/otellock"
)

func measuring() distlock.Hooks {
	return otellock.Hooks(
		otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
		otellock.WithTracerProvider(noop.NewTracerProvider()))
}

// BenchmarkLock is a lock and its release, without hooks and with them: the difference is
// what the metrics cost.
func BenchmarkLock(b *testing.B) {
	for name, h := range map[string]distlock.Hooks{"off": {}, "metrics": measuring()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			lock := locked(b, h)
			for b.Loop() {
				lock()
			}
		})
	}
}

// A lock with metrics needs at most two allocations more.
func TestAllocations(t *testing.T) {
	off := testing.AllocsPerRun(1000, locked(t, distlock.Hooks{}))
	if on := testing.AllocsPerRun(1000, locked(t, measuring())); on > off+2 {
		t.Errorf("%v allocations with metrics, %v without", on, off)
	}
}

// locked returns a function that takes a lock and releases it.
func locked(tb testing.TB, h distlock.Hooks) func() {
	tb.Helper()
	l := distlock.New(memlock.New(), distlock.Config{Hooks: h})
	tb.Cleanup(func() { _ = l.Close() })
	ctx := context.Background()
	return func() {
		lease, err := l.Acquire(ctx, "7", distlock.Opts{Prefix: "shop:", Value: "pay"})
		if err != nil {
			tb.Fatal(err)
		}
		_ = lease.Release(ctx)
	}
}
