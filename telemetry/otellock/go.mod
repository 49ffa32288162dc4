module github.com/distlock-go/distlock/telemetry/otellock

go 1.26.0

// The oldest versions with which all tests pass, and without known security faults, so
// that a program that uses the library keeps its own.
require (
	github.com/distlock-go/distlock v0.1.0
	go.opentelemetry.io/otel v1.44.0 // older: GHSA-5wrp-cwcj-q835
	go.opentelemetry.io/otel/metric v1.44.0
	go.opentelemetry.io/otel/sdk v1.44.0
	go.opentelemetry.io/otel/sdk/metric v1.44.0
	go.opentelemetry.io/otel/trace v1.44.0
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	golang.org/x/sys v0.45.0 // indirect
)

replace github.com/distlock-go/distlock => ../..
