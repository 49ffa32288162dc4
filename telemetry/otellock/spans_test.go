package otellock_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/telemetry/otellock"
)

// traced is a Locker with spans.
type traced struct {
	*testing.T
	*distlock.Locker
	store    *testkit.Store
	recorder *tracetest.SpanRecorder
	tracer   trace.Tracer // of the callers
	hooks    distlock.Hooks
	begun    time.Time
}

// traces runs f in virtual time, with others among the hooks. In the end each span that was
// begun has ended.
func traces(t *testing.T, f func(t *traced), others ...distlock.Hooks) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := tracetest.NewSpanRecorder()
		p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
		s := testkit.NewStore()
		s.LimitTokens(2) // one hand-over
		spans := otellock.Hooks(otellock.WithTracerProvider(p), otellock.WithMeterProvider(noop.NewMeterProvider()))
		l := distlock.New(s, distlock.Config{Holder: "web-1", HandOverTime: time.Minute, Hooks: distlock.JoinHooks(append(others, spans)...)})
		f(&traced{t, l, s, r, p.Tracer("caller"), spans, time.Now()})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if begun, ended := len(r.Started()), len(r.Ended()); begun != ended {
			t.Errorf("%d spans were begun, %d ended", begun, ended)
		}
	})
}

// caller returns a context with a span of the caller.
func (t *traced) caller(name string) (context.Context, trace.Span) {
	return t.tracer.Start(t.Context(), name)
}

// want checks the spans that have ended: a line for each, sorted.
func (t *traced) want(want ...string) {
	t.Helper()
	synctest.Wait()
	ended := t.recorder.Ended()
	t.recorder.Reset()
	names := map[trace.SpanID]string{}
	for _, s := range ended {
		names[s.SpanContext().SpanID()] = s.Name()
	}
	got := make([]string, 0, len(ended))
	for _, s := range ended {
		line := fmt.Sprintf("%s [%v %v] below %q", s.Name(), s.StartTime().Sub(t.begun), s.EndTime().Sub(t.begun), names[s.Parent().SpanID()])
		for _, a := range s.Attributes() {
			line += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(a.Key), "distlock."), a.Value.String())
		}
		for _, l := range s.Links() {
			line += fmt.Sprintf(" -> %q", names[l.SpanContext.SpanID()])
		}
		for _, e := range s.Events() {
			line += fmt.Sprintf(" event %s at %v", e.Name, e.Time.Sub(t.begun))
			for _, a := range e.Attributes {
				line += fmt.Sprintf(" %s=%q", a.Key, a.Value.String())
			}
		}
		if s.Status().Code != codes.Unset {
			line += fmt.Sprintf(" %v: %s", s.Status().Code, s.Status().Description)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The spans of a lock are children of the caller's span, and so remain the spans of the
// function. A re-entry has none.
func TestSpans(t *testing.T) {
	traces(t, func(t *traced) {
		pay := distlock.Opts{Prefix: "shop:", Value: "pay"}
		var all sync.WaitGroup
		for _, name := range []string{"first", "second"} {
			all.Go(func() {
				ctx, span := t.caller(name)
				defer span.End()
				_ = t.Do(ctx, "7", pay, func(ctx context.Context) error {
					_, work := t.tracer.Start(ctx, "work of "+name)
					defer work.End()
					time.Sleep(time.Second / 2)
					return t.Do(ctx, "7", pay, func(context.Context) error { return nil })
				})
			})
			synctest.Wait()
		}
		all.Wait()
		t.want(
			`acquire shop:pay [0s 0s] below "first" name=shop:pay mode=exclusive key=shop:7 token=1 outcome=acquired`,
			`acquire shop:pay [0s 500ms] below "second" name=shop:pay mode=exclusive key=shop:7 token=2 outcome=handed_over`,
			`first [0s 500ms] below ""`,
			`hold shop:pay [0s 500ms] below "first" name=shop:pay mode=exclusive key=shop:7 token=1 outcome=released -> "acquire shop:pay"`,
			`hold shop:pay [500ms 1s] below "second" name=shop:pay mode=exclusive key=shop:7 token=2 outcome=released -> "acquire shop:pay"`,
			`second [0s 1s] below ""`,
			`work of first [0s 500ms] below "first"`,
			`work of second [500ms 1s] below "second"`,
		)
	})
}

// A lock that is busy is not an error of the span, but an answer. What else goes wrong is.
func TestSpanOfAFailure(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		o := distlock.Opts{Value: "pool", Permits: 1, RetryCount: 1}
		lease, err := t.Acquire(t.Context(), "k", o)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = t.Acquire(ctx, "k", o)
		o.Value, o.Permits, o.Mode = "\xff", 0, distlock.Shared // no text
		_, _ = t.Acquire(ctx, "k", o)
		_ = lease.Release(t.Context())
		_ = t.Close()
		_, _ = t.Acquire(ctx, "k", o)
		span.End()
		t.want(
			`acquire pool [0s 0s] below "caller" name=pool mode=permits key=k permits=1 outcome=not_acquired holder=web-1`,
			`acquire � [0s 0s] below "caller" name=� mode=shared key=k outcome=closed error.type=closed Error: distlock: acquire "k": locker closed`,
			`acquire � [0s 0s] below "caller" name=� mode=shared key=k outcome=not_acquired holder=web-1`,
			`caller [0s 0s] below ""`,
		)
	})
}

// A long wait has events that name the holder and the place, whether or not it is in vain.
func TestSpanOfAWait(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		lease, err := t.Acquire(t.Context(), "k", distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		o := distlock.Opts{Value: "wait", MaxWait: 2500 * time.Millisecond}
		_, _ = t.Acquire(ctx, "k", o)
		time.AfterFunc(1200*time.Millisecond, func() { _ = lease.Release(context.Background()) })
		_ = t.Do(ctx, "k", o, func(context.Context) error { return nil })
		span.End()
		const waited = ` event distlock.waiting at %v distlock.holder="web-1" distlock.place="1"`
		t.want(
			`acquire wait [0s 2.5s] below "caller" name=wait mode=exclusive key=k outcome=not_acquired holder=web-1`+fmt.Sprintf(waited+waited, "1s", "2s"),
			`acquire wait [2.5s 3.7s] below "caller" name=wait mode=exclusive key=k token=2 outcome=handed_over`+fmt.Sprintf(waited, "3.5s"),
			`caller [0s 3.7s] below ""`,
			`hold wait [3.7s 3.7s] below "caller" name=wait mode=exclusive key=k token=2 outcome=released -> "acquire wait"`,
		)
	})
}

// A lease that is lost has an event, and its span ends then, even if it is never released.
func TestSpanOfALoss(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		o := distlock.Opts{Value: "lost", MaxHold: time.Second}
		lease, err := t.Acquire(ctx, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		_, _ = t.Acquire(lease.Context(), "k", o) // fails
		_ = lease.Release(t.Context())
		if _, err := t.Acquire(ctx, "forgotten", o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		early := t.hooks.Start(ctx, distlock.Event{})
		for _, kind := range []distlock.Kind{distlock.Lost, distlock.Released, distlock.Acquired} { // the loss is told first
			t.hooks.Event(early, distlock.Event{Kind: kind, Name: "early", Err: map[bool]error{true: distlock.ErrLost}[kind == distlock.Lost]})
		}
		span.End()
		t.want(
			`acquire early [4s 4s] below "caller" name=early mode=exclusive key= token=0 outcome=acquired`,
			`acquire lost [0s 0s] below "caller" name=lost mode=exclusive key=k token=1 outcome=acquired`,
			`acquire lost [2s 2s] below "caller" name=lost mode=exclusive key=forgotten token=1025 outcome=acquired`,
			`acquire lost [2s 2s] below "caller" name=lost mode=exclusive key=k outcome=lost error.type=lost `+
				`Error: distlock: acquire "k": lock lost: held for MaxHold, 1s`,
			`caller [0s 4s] below ""`,
			`hold early [4s 4s] below "caller" name=early mode=exclusive key= token=0 outcome=lost error.type=lost -> "acquire early" `+
				`event distlock.lost at 4s exception.message="lock lost" Error: lock lost`,
			`hold lost [0s 1s] below "caller" name=lost mode=exclusive key=k token=1 outcome=lost error.type=lost -> "acquire lost" `+
				`event distlock.lost at 1s exception.message="lock lost: held for MaxHold, 1s" Error: lock lost: held for MaxHold, 1s`,
			`hold lost [2s 3s] below "caller" name=lost mode=exclusive key=forgotten token=1025 outcome=lost error.type=lost -> "acquire lost" `+
				`event distlock.lost at 3s exception.message="lock lost: held for MaxHold, 1s" Error: lock lost: held for MaxHold, 1s`,
		)
	})
}

// Each renewal that fails is an event.
func TestSpanOfARenewal(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		lease, err := t.Acquire(ctx, "k", distlock.Opts{Value: "job", KeyTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second / 2) // one is renewed
		t.store.Fail(testkit.ErrSilent, testkit.Renew)
		time.Sleep(3 * time.Second)
		_ = lease.Release(context.Background())
		span.End()
		synctest.Wait()
		events := map[string]int{}
		for _, s := range t.recorder.Ended() {
			for _, e := range s.Events() {
				events[s.Name()+" "+e.Name]++
			}
		}
		if events["hold job distlock.renewal_failed"] < 5 || events["hold job distlock.lost"] != 1 {
			t.Errorf("events %v", events)
		}
	})
}

// A caller without a span has none of the lock, also below a lock that has.
func TestNoSpanWithoutCaller(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		lease, err := t.Acquire(ctx, "k", distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		without := trace.ContextWithSpan(lease.Context(), nil)
		if err := t.Do(without, "l", distlock.Opts{}, func(context.Context) error { return nil }); err != nil {
			t.Error(err)
		}
		_ = lease.Release(context.Background())
		span.End()
		t.want(
			`acquire unnamed [0s 0s] below "caller" name=unnamed mode=exclusive key=k token=1 outcome=acquired`,
			`caller [0s 0s] below ""`,
			`hold unnamed [0s 0s] below "caller" name=unnamed mode=exclusive key=k token=1 outcome=released -> "acquire unnamed"`,
		)
	})
}

// Each span ends, even if another hook panics or exits.
func TestSpansEndAfterAPanic(t *testing.T) {
	for how, end := range map[string]func(){"panic": func() { panic("a hook") }, "Goexit": runtime.Goexit} {
		for _, kind := range []distlock.Kind{"start", distlock.Acquired, distlock.Failed, distlock.Released} {
			other := distlock.Hooks{Event: testkit.On{kind: func(context.Context, distlock.Event) { end() }}.Event}
			if kind == "start" {
				other.Start = func(context.Context, distlock.Event) context.Context { end(); return nil }
			}
			t.Run(string(kind)+"/"+how, func(t *testing.T) {
				traces(t, func(t *traced) {
					ctx, span := t.caller("caller")
					defer span.End()
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { _ = recover() }()
						_ = t.Do(ctx, "k", distlock.Opts{}, func(context.Context) error {
							_, err := t.TryAcquire(context.WithoutCancel(trace.ContextWithSpan(t.Context(), span)), "k", distlock.Opts{})
							return err
						})
					}()
					<-done
				}, other)
			})
		}
	}
}

// However long a wait is, its span has few events.
func TestSpanOfALongWait(t *testing.T) {
	traces(t, func(t *traced) {
		ctx, span := t.caller("caller")
		lease, err := t.Acquire(t.Context(), "k", distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = t.Acquire(ctx, "k", distlock.Opts{MaxWait: time.Hour})
		span.End()
		if n := len(t.recorder.Ended()[0].Events()); n != 16 {
			t.Errorf("%d events", n)
		}
		_ = lease.Release(ctx)
	})
}
