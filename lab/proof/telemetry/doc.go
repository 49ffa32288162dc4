// Package telemetry tests that packages otellock and promlock measure the same.
package telemetry
