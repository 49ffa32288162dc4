package otellock_test

import (
	"context"
	"testing"

	nometric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/otellock"
)

// BenchmarkLock is a lock and its release, without hooks and with them: the difference is
// what the hooks cost.
func BenchmarkLock(b *testing.B) {
	tracers := sdktrace.NewTracerProvider()
	traced, span := tracers.Tracer("caller").Start(context.Background(), "caller")
	defer span.End()
	spans := otellock.Hooks(otellock.WithMeterProvider(nometric.NewMeterProvider()), otellock.WithTracerProvider(tracers))
	for _, c := range []struct {
		name  string
		hooks distlock.Hooks
		ctx   context.Context
	}{
		{"off", distlock.Hooks{}, context.Background()},
		{"metrics", measuring(), context.Background()},
		{"metrics of a traced caller", measuring(), traced},
		{"spans, caller without one", spans, context.Background()},
		{"spans", spans, traced},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			lock := locked(b, c.ctx, c.hooks)
			for b.Loop() {
				lock()
			}
		})
	}
}

// A lock with metrics needs at most two allocations more, also with spans that are not
// made, because the caller has none.
func TestAllocations(t *testing.T) {
	ctx := context.Background()
	off := testing.AllocsPerRun(1000, locked(t, ctx, distlock.Hooks{}))
	spans := otellock.Hooks(otellock.WithMeterProvider(nometric.NewMeterProvider()), otellock.WithTracerProvider(sdktrace.NewTracerProvider()))
	for name, h := range map[string]distlock.Hooks{"metrics": measuring(), "both": distlock.JoinHooks(measuring(), spans)} {
		if on := testing.AllocsPerRun(1000, locked(t, ctx, h)); on > off+2 {
			t.Errorf("%s: %v allocations, %v without", name, on, off)
		}
	}
}

// measuring returns hooks without spans.
func measuring() distlock.Hooks {
	return otellock.Hooks(
		otellock.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))),
		otellock.WithTracerProvider(notrace.NewTracerProvider()))
}

// locked returns a function that takes a lock and releases it.
func locked(tb testing.TB, ctx context.Context, h distlock.Hooks) func() { //nolint:revive // tb comes first in tests
	tb.Helper()
	l := distlock.New(memlock.New(), distlock.Config{Hooks: h})
	tb.Cleanup(func() { _ = l.Close() })
	return func() {
		lease, err := l.Acquire(ctx, "7", distlock.Opts{Prefix: "shop:", Value: "pay"})
		if err != nil {
			tb.Fatal(err)
		}
		_ = lease.Release(ctx)
	}
}
