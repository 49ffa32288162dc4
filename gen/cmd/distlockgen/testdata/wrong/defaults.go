//distlock:defaults value:a paramLock param:id key:r.ID hasher:distlock.Keyed() as:Pay keyTimeout:1s keyTimeot:1s vale:a mode:both
//distlock:defaults maxWait:1s
//distlock:default maxWait:1s
// distlock:defaults maxWait:1s

package wrong

//distlock:defaults maxWait:1s

// distlock:defaults maxWait:1s
