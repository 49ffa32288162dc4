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
	waited, heldFor metric.Float64Histogram

	// The others are observed when the meter is read. That costs a lock far less, and they
	// are right even if the program sets its provider later.
	waiting, held    metric.Int64ObservableUpDownCounter
	renewals, losses metric.Int64ObservableCounter

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
		waiting: made(m.Int64ObservableUpDownCounter("distlock.waiting",
			metric.WithDescription(lockmetrics.WaitingText), metric.WithUnit("{acquisition}"))),
		held: made(m.Int64ObservableUpDownCounter("distlock.held",
			metric.WithDescription(lockmetrics.HeldText), metric.WithUnit("{lock}"))),
		renewals: made(m.Int64ObservableCounter("distlock.renewals",
			metric.WithDescription(lockmetrics.RenewalsText), metric.WithUnit("{renewal}"))),
		losses: made(m.Int64ObservableCounter("distlock.losses",
			metric.WithDescription(lockmetrics.LossesText), metric.WithUnit("{lease}"))),
	}
	made(m.RegisterCallback(in.observe, in.waiting, in.held, in.renewals, in.losses))
	return lockmetrics.Hooks(in.series)
}

// made returns what was made. An instrument is usable even if there is an error.
func made[T any](t T, err error) T {
	if err != nil {
		otel.Handle(err)
	}
	return t
}

// observe is called when the meter is read. A counter that an alert may watch is there from
// a name's first acquisition on, with 0, because Prometheus sees no increase in the first
// value of a series.
func (in *instruments) observe(_ context.Context, o metric.Observer) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, s := range in.all {
		o.ObserveInt64(in.waiting, s.nowWaiting.Load(), s.set)
		o.ObserveInt64(in.held, s.nowHeld.Load(), s.set)
		o.ObserveInt64(in.renewals, s.renewed.Load(), s.renewedSet)
		o.ObserveInt64(in.renewals, s.failed.Load(), s.failedSet)
		o.ObserveInt64(in.losses, s.lost.Load(), s.set)
	}
	return nil
}

// series measures the locks of one name and mode.
type series struct {
	*instruments

	nowWaiting, nowHeld   atomic.Int64
	renewed, failed, lost atomic.Int64

	// Made once, because that takes longer than to measure.
	attrs                      []attribute.KeyValue
	set, renewedSet, failedSet metric.MeasurementOption
	byOutcome                  [lockmetrics.Outcomes]atomic.Pointer[[]metric.RecordOption]
}

// series returns the series of a name and mode.
func (in *instruments) series(name, mode string) lockmetrics.Series {
	s := &series{instruments: in, attrs: []attribute.KeyValue{nameKey.String(name), modeKey.String(mode)}}
	s.set = metric.WithAttributeSet(attribute.NewSet(s.attrs...))
	s.renewedSet, s.failedSet = s.withOutcome(lockmetrics.Renewed), s.withOutcome(lockmetrics.Failed)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.all = append(in.all, s)
	return s
}

func (s *series) withOutcome(o lockmetrics.Outcome) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(s.attrs[0], s.attrs[1], outcomeKey.String(o.String())))
}

func (s *series) of(o lockmetrics.Outcome) []metric.RecordOption {
	if made := s.byOutcome[o].Load(); made != nil {
		return *made
	}
	made := []metric.RecordOption{s.withOutcome(o)}
	s.byOutcome[o].Store(&made)
	return made
}

func (s *series) Waiting(n int64) { s.nowWaiting.Add(n) }

func (s *series) Held(n int64) { s.nowHeld.Add(n) }

func (s *series) Waited(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.waited.Record(ctx, d.Seconds(), s.of(o)...)
}

func (s *series) HeldFor(ctx context.Context, d time.Duration, o lockmetrics.Outcome) {
	s.heldFor.Record(ctx, d.Seconds(), s.of(o)...)
}

func (s *series) Renewal(o lockmetrics.Outcome) {
	if o == lockmetrics.Failed {
		s.failed.Add(1)
	} else {
		s.renewed.Add(1)
	}
}

func (s *series) Loss() { s.lost.Add(1) }
