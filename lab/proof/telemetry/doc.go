// Package telemetry has a program that logs, measures and traces its locks.
package telemetry
