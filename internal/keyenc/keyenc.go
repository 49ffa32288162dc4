// Package keyenc encodes the parameters of a lock, so that equal parameters have
// one key in every process and different ones have different keys. The rules are
// those of ParamLock in distlock.Opts.
//
// The encoding is a promise: a change to it changes every key, and processes of
// the old and the new version would no longer exclude each other.
package keyenc

// Skip stands in place of parameters of a call that needs no lock. It cannot be
// encoded. Its text only shows in a log.
const Skip skip = "distlock.Skip"

type skip string

// Fault stands for parameters that a middleware could not make: a Site returns Err, after
// its hooks have been told.
type Fault struct{ Err error }
