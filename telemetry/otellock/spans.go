package otellock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
)

// The attributes of spans alone.
const (
	keyKey     = attribute.Key("distlock.key")
	permitsKey = attribute.Key("distlock.permits")
	tokenKey   = attribute.Key("distlock.token")
	holderKey  = attribute.Key("distlock.holder")
	placeKey   = attribute.Key("distlock.place")
	leftKey    = attribute.Key("distlock.left")
)

// The names of events.
const (
	lostEvent    = "distlock.lost"
	waitingEvent = "distlock.waiting"
	renewalEvent = "distlock.renewal_failed"
)

// spans returns the hooks that make spans. The span of an acquisition is made when the
// acquisition is over: only then it is known whether it is a re-entry, and no span is left
// open if the program panics.
func spans(tracer trace.Tracer) distlock.Hooks {
	t := &spanMaker{tracer}
	return distlock.Hooks{Start: t.start, Event: t.event}
}

// spanMaker makes spans of one tracer.
type spanMaker struct{ trace.Tracer }

// start returns the context of an acquisition, if its caller has a span. The others have no
// spans: each would be a trace of its own, which tells no more than the metrics.
func (t *spanMaker) start(ctx context.Context, _ distlock.Event) context.Context {
	traced := trace.SpanContextFromContext(ctx).IsValid()
	if !traced && ctx.Value(t) == nil {
		return ctx
	}
	return context.WithValue(ctx, t, &acquisition{tracer: t, traced: traced})
}

func (t *spanMaker) event(ctx context.Context, e distlock.Event) {
	a := t.of(ctx)
	if a == nil || e.Reentrant {
		return
	}
	switch e.Kind {
	case distlock.Waiting:
		if len(a.waits) < maxWaits {
			kept := e // so that other events are not allocated
			a.waits = append(a.waits, wait{time.Now(), &kept})
		}
	case distlock.Acquired:
		a.acquired(ctx, &e)
	case distlock.Failed:
		a.failed(ctx, &e)
	case distlock.Renewed:
		if e.Err != nil {
			a.notRenewed(&e)
		}
	case distlock.Lost, distlock.Released:
		a.end(lockmetrics.OutcomeOf(&e), e.Err)
	}
}

// of returns the acquisition of a lease's context, or nil if it has no spans.
func (t *spanMaker) of(ctx context.Context) *acquisition {
	if a, _ := ctx.Value(t).(*acquisition); a != nil && a.traced {
		return a
	}
	return nil
}

// acquisition is in the context that Start returns, with the span of the lease. Spans of the
// function remain children of the caller's span.
type acquisition struct {
	tracer trace.Tracer
	traced bool   // the caller has a span; false hides an acquisition above
	waits  []wait // what the wait was for: no event comes beside Waiting

	mu      sync.Mutex
	hold    trace.Span // nil until the lock is acquired
	over    bool       // the lease was lost or released
	outcome lockmetrics.Outcome
	err     error
}

// wait is an event of the kind Waiting.
type wait struct {
	at time.Time
	*distlock.Event
}

// maxWaits is how many of them a span has.
const maxWaits = 16

// addWaits makes the waits events of the span.
func (a *acquisition) addWaits(span trace.Span) {
	for _, w := range a.waits {
		attrs := holderOf(w.Err)
		if w.Place > 0 {
			attrs = append(attrs, placeKey.Int(w.Place))
		}
		span.AddEvent(waitingEvent, trace.WithTimestamp(w.at), trace.WithAttributes(attrs...))
	}
}

// span returns a new span below the span of the caller.
func (a *acquisition) span(ctx context.Context, what string, e *distlock.Event, began time.Time, links []trace.Link, more ...attribute.KeyValue) trace.Span {
	name := lockmetrics.Text(e.Name)
	attrs := make([]attribute.KeyValue, 0, 8)
	attrs = append(attrs, nameKey.String(name), modeKey.String(lockmetrics.ModeOf(e)), keyKey.String(lockmetrics.Text(e.Key)))
	if e.Permits > 0 {
		attrs = append(attrs, permitsKey.Int(e.Permits))
	}
	_, span := a.tracer.Start(ctx, what+" "+name,
		trace.WithTimestamp(began), trace.WithAttributes(append(attrs, more...)...), trace.WithLinks(links...))
	return span
}

func (a *acquisition) acquired(ctx context.Context, e *distlock.Event) {
	now := time.Now()
	token := tokenKey.Int64(int64(e.Token))
	acquire := a.span(ctx, "acquire", e, now.Add(-e.Wait), nil, token, outcomeKey.String(lockmetrics.OutcomeOf(e).String()))
	a.addWaits(acquire)
	acquire.End(trace.WithTimestamp(now))
	hold := a.span(ctx, "hold", e, now, []trace.Link{{SpanContext: acquire.SpanContext()}}, token)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold = hold
	if a.over { // lost before the hook was called
		a.finish()
	}
}

func (a *acquisition) failed(ctx context.Context, e *distlock.Event) {
	now := time.Now()
	outcome := lockmetrics.OutcomeOf(e).String()
	span := a.span(ctx, "acquire", e, now.Add(-e.Wait), nil, outcomeKey.String(outcome))
	a.addWaits(span)
	span.SetAttributes(holderOf(e.Err)...)
	if distlock.CodeOf(e.Err) != distlock.CodeNotAcquired { // which is an answer, like a value that is not in a cache
		fail(span, outcome, e.Err)
	}
	span.End(trace.WithTimestamp(now))
}

func (a *acquisition) notRenewed(e *distlock.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hold != nil {
		a.hold.AddEvent(renewalEvent, trace.WithAttributes(leftKey.Float64(e.Left.Seconds()), semconv.ExceptionMessage(e.Err.Error())))
	}
}

// end ends the span of the lease, unless the lease has ended before.
func (a *acquisition) end(o lockmetrics.Outcome, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.over, a.outcome, a.err = true, o, err
	if a.hold != nil {
		a.finish()
	}
}

// finish ends the span of the lease. The caller has the mutex.
func (a *acquisition) finish() {
	now := time.Now()
	a.hold.SetAttributes(outcomeKey.String(a.outcome.String()))
	if a.outcome == lockmetrics.Lost {
		a.hold.AddEvent(lostEvent, trace.WithTimestamp(now), trace.WithAttributes(semconv.ExceptionMessage(a.err.Error())))
	}
	if a.err != nil {
		fail(a.hold, a.outcome.String(), a.err)
	}
	a.hold.End(trace.WithTimestamp(now))
}

// holderOf returns the holder that err names, if it does.
func holderOf(err error) []attribute.KeyValue {
	if held := new(distlock.HeldError); errors.As(err, &held) && held.Holder != "" {
		return []attribute.KeyValue{holderKey.String(held.Holder)}
	}
	return nil
}

func fail(span trace.Span, outcome string, err error) {
	span.SetAttributes(semconv.ErrorTypeKey.String(outcome))
	span.SetStatus(codes.Error, err.Error())
}
