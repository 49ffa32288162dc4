package otellock

import (
	"context"
	"sync"
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

// instruments are those of one meter, and the series that they have.
type instruments struct {
	waited, heldFor  metric.Float64Histogram
	renewals, losses metric.Int64Counter

	// Observed when the meter is read: that costs a lock far less than to count up and down.
	waiting, held metric.Int64ObservableUpDownCounter

	mu  sync.Mutex
	all []*series
}

// metrics returns the hooks that measure.
func metrics(m metric.Meter) distlock.Hooks {
	in := &instruments{
		waited: made(m.Float64Histogram("distlock.wait.duration",
			metric.WithDescription(lockmetrics.WaitText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...))),
		heldFor: made(m.Float64Histogram("distlock.hold.duration",
			metric.WithDescription(lockmetrics.HoldText), metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(lockmetrics.Buckets()...))),
		renewals: made(m.Int64Counter("distlock.renewals",
			metric.WithDescription(lockmetrics.RenewalsText), metric.WithUnit("{renewal}"))),
		losses: made(m.Int64Counter("distlock.losses",
			metric.WithDescription(lockmetrics.LossesText), metric.WithUnit("{lease}"))),
		waiting: made(m.Int64ObservableUpDownCounter("distlock.waiting",
			metric.WithDescription(lockmetrics.WaitingText), metric.WithUnit("{acquisition}"))),
		held: made(m.Int64ObservableUpDownCounter("distlock.held",
			metric.WithDescription(lockmetrics.HeldText), metric.WithUnit("{lock}"))),
	}
	made(m.RegisterCallback(in.observe, in.waiting, in.held))
	return lockmetrics.Hooks(in.series)
}

// made returns what was made. An instrument is usable even if there is an error.
func made[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}

// observe is called when the meter is read.
func (in *instruments) observe(_ context.Context, o metric.Observer) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range in.all {
		o.ObserveInt64(in.waiting, s.nowWaiting.Load(), s.set)
		o.ObserveInt64(in.held, s.nowHeld.Load(), s.set)
	}
	return nil
}

// series measures the locks of one name and mode. Its options are made once, because that
// takes longer than to measure.
type series struct {
	*instruments

	nowWaiting, nowHeld atomic.Int64

	attrs     []attribute.KeyValue
	set       metric.MeasurementOption // without an outcome
	byOutcome [lockmetrics.Outcomes]atomic.Pointer[outcomeOptions]
}

// series returns the series of a name and mode. Those that an alert may watch are there from
// the beginning, with 0, because Prometheus sees no increase in the first value of a series.
func (in *instruments) series(name, mode string) lockmetrics.Series {
	attrs := []attribute.KeyValue{nameKey.String(name), modeKey.String(mode)}
	s := &series{instruments: in, attrs: attrs, set: metric.WithAttributeSet(attribute.NewSet(attrs...))}
	ctx := context.Background() //nolint:forbidigo // belongs to no trace
	s.losses.Add(ctx, 0, s.set)
	s.renewals.Add(ctx, 0, s.of(lockmetrics.Renewed).add...)
	s.renewals.Add(ctx, 0, s.of(lockmetrics.Failed).add...)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = append(in.all, s)
	return s
}

// outcomeOptions are the options of what has an outcome.
type outcomeOptions struct {
	add    []metric.AddOption
	record []metric.RecordOption
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

func (s *series) Waiting(n int64) { s.nowWaiting.Add(n) }

func (s *series) Held(n int64) { s.nowHeld.Add(n) }

func (s *series) Waited(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.waited.Record(ctx, d.Seconds(), s.of(o).record...)
}

func (s *series) HeldFor(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.heldFor.Record(ctx, d.Seconds(), s.of(o).record...)
}

func (s *series) Renewal(ctx context.Context, o lockmetrics.Outcome) {
	s.renewals.Add(ctx, 1, s.of(o).add...)
}

func (s *series) Loss(ctx context.Context) { s.losses.Add(ctx, 1, s.set) }
