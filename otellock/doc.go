// Package otellock measures and traces the locks of a [distlock.Locker] with OpenTelemetry.
package otellock
