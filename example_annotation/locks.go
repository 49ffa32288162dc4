package shop

import "github.com/distlock-go/distlock"

// locker takes the locks of what has no Locker of its own.
var locker *distlock.Locker

// UseLocker says where locks are taken. Call it before anything else; until then
// what is annotated fails and does not run.
func UseLocker(l *distlock.Locker) { locker = l }
