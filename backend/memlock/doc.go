// Package memlock is a lock backend in the memory of one process. It is for tests and
// examples, and for programs that do all their work in one process.
//
// It has the whole contract of package driver: leases expire, tokens rise, and waiters
// are served in order of arrival. A program that was tested on memlock therefore meets
// nothing new on a server. Lockers that share one [Backend] behave like processes that
// share a server.
//
// All times are those of package time. In a testing/synctest bubble an hour of leases
// passes at once. A Backend has no goroutines and nothing to close.
package memlock
