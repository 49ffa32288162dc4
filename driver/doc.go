// Package driver is the contract between a [distlock.Locker] and its store: what the
// author of a store implements. Programs that only use locks need the package distlock
// alone.
//
// A store is a [Backend]. Its optional abilities are interfaces that the same type
// implements: [Queuer], [Extender], [Waker], [Inspector], [Revoker] and [Pinger]. What else
// it can do, and its limits, it declares in [Features].
//
// A Backend speaks the protocol of one store. Retries, the schedule of renewals,
// re-entry and the queue inside the process belong to the Locker. Package locktest is
// the conformance suite: each "must" in this package is one of its cases.
//
// Until version 2 of the module, this package may change in a minor version. The changelog
// then says what the author of a backend has to do. Programs that only use locks notice
// nothing.
//
// [distlock.Locker]: https://pkg.go.dev/github.com/distlock-go/distlock#Locker
package driver
