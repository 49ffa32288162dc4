package otellock

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
	_ "github.com/distlock-go/distlock/internal/raise-all-modules-together/v0.1" // one version
)

// The attributes of metrics and spans.
const (
	nameKey    = attribute.Key("distlock.name")
	modeKey    = attribute.Key("distlock.mode")
	outcomeKey = attribute.Key("distlock.outcome")
)

// metrics returns the hooks that measure. All but the histograms are observed when the meter
// is read. That costs a lock far less, and they are right even if the program sets its
// provider later.
func metrics(m metric.Meter) distlock.Hooks {
	waits := made(m.Float64Histogram("distlock.wait.duration",
		metric.WithDescription(lockmetrics.WaitText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...)))
	holds := made(m.Float64Histogram("distlock.hold.duration",
		metric.WithDescription(lockmetrics.HoldText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...)))
	waiting := made(m.Int64ObservableUpDownCounter("distlock.waiting",
		metric.WithDescription(lockmetrics.WaitingText), metric.WithUnit("{acquisition}")))
	held := made(m.Int64ObservableUpDownCounter("distlock.held",
		metric.WithDescription(lockmetrics.HeldText), metric.WithUnit("{lock}")))
	renewals := made(m.Int64ObservableCounter("distlock.renewals",
		metric.WithDescription(lockmetrics.RenewalsText), metric.WithUnit("{renewal}")))
	losses := made(m.Int64ObservableCounter("distlock.losses",
		metric.WithDescription(lockmetrics.LossesText), metric.WithUnit("{lease}")))
	locks := lockmetrics.New(histogram(waits), histogram(holds))
	made(m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for s := range locks.Series() {
			set := attributes(s.Name, s.Mode)
			o.ObserveInt64(waiting, s.Waiting.Load(), set)
			o.ObserveInt64(held, s.Held.Load(), set)
			o.ObserveInt64(losses, s.Losses.Load(), set)
			o.ObserveInt64(renewals, s.Renewed.Load(), attributes(s.Name, s.Mode, outcomeKey.String(lockmetrics.Renewed)))
			o.ObserveInt64(renewals, s.Failed.Load(), attributes(s.Name, s.Mode, outcomeKey.String(lockmetrics.Failed)))
		}
		return nil
	}, waiting, held, renewals, losses))
	return locks.Hooks()
}

// made returns what was made. An instrument is usable even if there is an error.
func made[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}

func attributes(name, mode string, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, nameKey.String(name), modeKey.String(mode))...))
}

func histogram(h metric.Float64Histogram) lockmetrics.Histogram {
	return func(name, mode, outcome string) lockmetrics.Observe {
		opts := []metric.RecordOption{attributes(name, mode, outcomeKey.String(outcome))}
		return func(ctx context.Context, seconds float64) { h.Record(ctx, seconds, opts...) }
	}
}
