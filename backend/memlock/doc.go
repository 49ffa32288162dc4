// Package memlock is a lock backend that lives in the memory of one process:
// what tests and examples use, and what a program uses whose work never leaves
// its process.
//
// It keeps the whole contract of [driver.Backend], [driver.Queuer],
// [driver.Inspector].
// Leases expire, tokens rise, and waiters stand in a line, so a program that
// was tested on memlock meets nothing new on a server. Lockers that share one
// [Backend] behave like processes that share a server.
//
// Time is the time of package time and nothing else, so in a testing/synctest
// bubble an hour of leases passes in an instant. A Backend has no goroutine and
// nothing to close.
package memlock
