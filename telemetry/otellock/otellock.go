package otellock

import (
	"runtime/debug"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/distlock-go/distlock"
)

// ScopeName is the name of the instrumentation scope.
const ScopeName = "github.com/distlock-go/distlock/telemetry/otellock"

// An Option changes [Hooks].
type Option func(*options)

type options struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
}

// WithMeterProvider sets the provider of the metrics. The default is the global one. The
// provider of package go.opentelemetry.io/otel/metric/noop switches them off.
func WithMeterProvider(p metric.MeterProvider) Option { return func(o *options) { o.meters = p } }

// WithTracerProvider sets the provider of the spans. The default is the global one. The
// provider of package go.opentelemetry.io/otel/trace/noop switches them off.
func WithTracerProvider(p trace.TracerProvider) Option { return func(o *options) { o.tracers = p } }

// Hooks returns hooks for the Config of one or more Lockers. [distlock.JoinHooks] adds
// others.
func Hooks(opts ...Option) distlock.Hooks {
	o := options{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
	for _, opt := range opts {
		opt(&o)
	}
	v := version()
	var all []distlock.Hooks // a provider that is off costs nothing
	if _, off := o.meters.(nometric.MeterProvider); !off {
		all = append(all, metrics(o.meters.Meter(ScopeName, metric.WithInstrumentationVersion(v), metric.WithSchemaURL(semconv.SchemaURL))))
	}
	if _, off := o.tracers.(notrace.TracerProvider); !off {
		all = append(all, spans(o.tracers.Tracer(ScopeName, trace.WithInstrumentationVersion(v), trace.WithSchemaURL(semconv.SchemaURL))))
	}
	return distlock.JoinHooks(all...)
}

// version returns the version of this module in the program, as the go command recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == ScopeName {
			return m.Version
		}
	}
	return ""
}
