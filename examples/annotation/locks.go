package shop

import "github.com/distlock-go/distlock"

// locker is used by types without a Locker of their own.
var locker *distlock.Locker

// UseLocker sets the Locker of the package. Call it first; until then annotated
// functions fail without running.
func UseLocker(l *distlock.Locker) { locker = l }
