// Package otellock reports the locks of a distlock.Locker to OpenTelemetry.
package otellock
