// Package promlock is a Prometheus collector for the locks of a distlock.Locker.
package promlock
