package keyenc

// Skip stands in place of parameters of a call that needs no lock. It cannot be
// encoded. Its text only shows in a log.
const Skip skip = "distlock.Skip"

type skip string

// Fault stands for parameters that a middleware could not make: a Site returns Err, after
// its hooks have been told.
type Fault struct{ Err error }
