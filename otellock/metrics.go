package otellock

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
)

// The attributes of metrics and spans.
const (
	nameKey    = attribute.Key("distlock.name")
	modeKey    = attribute.Key("distlock.mode")
	outcomeKey = attribute.Key("distlock.outcome")
)

// instruments are those of one meter.
type instruments struct {
	waiting, held    metric.Int64UpDownCounter
	waited, heldFor  metric.Float64Histogram
	renewals, losses metric.Int64Counter
}

// metrics returns the hooks that measure.
func metrics(m metric.Meter) distlock.Hooks {
	all := instruments{
		waiting: made(m.Int64UpDownCounter("distlock.waiting",
			metric.WithDescription(lockmetrics.WaitingText), metric.WithUnit("{acquisition}"))),
		held: made(m.Int64UpDownCounter("distlock.held",
			metric.WithDescription(lockmetrics.HeldText), metric.WithUnit("{lock}"))),
		waited: made(m.Float64Histogram("distlock.wait.duration",
			metric.WithDescription(lockmetrics.WaitText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...))),
		heldFor: made(m.Float64Histogram("distlock.hold.duration",
			metric.WithDescription(lockmetrics.HoldText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...))),
		renewals: made(m.Int64Counter("distlock.renewals",
			metric.WithDescription(lockmetrics.RenewalsText), metric.WithUnit("{renewal}"))),
		losses: made(m.Int64Counter("distlock.losses",
			metric.WithDescription(lockmetrics.LossesText), metric.WithUnit("{lease}"))),
	}
	return lockmetrics.Hooks(func(name, mode string) lockmetrics.Series { return newSeries(&all, name, mode) })
}

// made returns an instrument. The instrument is usable even if there is an error.
func made[T any](instrument T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

// series measures the locks of one name and mode. Its options are made once, because that
// takes longer than to measure.
type series struct {
	*instruments

	attrs     []attribute.KeyValue
	add       []metric.AddOption // without an outcome
	byOutcome [lockmetrics.Outcomes]atomic.Pointer[outcomeOptions]
}

// outcomeOptions are the options of what has an outcome.
type outcomeOptions struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// newSeries returns the series of a name and mode. Those that an alert may watch are there
// from the beginning, with 0, because Prometheus sees no increase in the first value of a
// series.
func newSeries(all *instruments, name, mode string) *series {
	attrs := []attribute.KeyValue{nameKey.String(name), modeKey.String(mode)}
	s := &series{instruments: all, attrs: attrs, add: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(attrs...))}}
	ctx := context.Background() //nolint:forbidigo // belongs to no trace
	s.Held(ctx, 0)
	s.losses.Add(ctx, 0, s.add...)
	s.renewals.Add(ctx, 0, s.of(lockmetrics.Renewed).add...)
	s.renewals.Add(ctx, 0, s.of(lockmetrics.Failed).add...)
	return s
}

func (s *series) of(o lockmetrics.Outcome) *outcomeOptions {
	if made := s.byOutcome[o].Load(); made != nil {
		return made
	}
	set := metric.WithAttributeSet(attribute.NewSet(s.attrs[0], s.attrs[1], outcomeKey.String(o.String())))
	made := &outcomeOptions{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
	s.byOutcome[o].Store(made)
	return made
}

func (s *series) Waiting(ctx context.Context, n int64) { s.waiting.Add(ctx, n, s.add...) }

func (s *series) Held(ctx context.Context, n int64) { s.held.Add(ctx, n, s.add...) }

func (s *series) Waited(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.waited.Record(ctx, d.Seconds(), s.of(o).record...)
}

func (s *series) HeldFor(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.heldFor.Record(ctx, d.Seconds(), s.of(o).record...)
}

func (s *series) Renewal(ctx context.Context, o lockmetrics.Outcome) {
	s.renewals.Add(ctx, 1, s.of(o).add...)
}

func (s *series) Loss(ctx context.Context) { s.losses.Add(ctx, 1, s.add...) }
