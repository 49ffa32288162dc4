package redislock

// What the tests of the scripts and of leaks need from inside.
var (
	AcquireScript = acquireScript
	ReleaseScript = releaseScript
	RenewScript   = renewScript
	LockKeys      = lockKeys
	Evicts        = evicts
	Sources       = []string{libSource, acquireSource, releaseSource, renewSource}
)

const (
	Retention = retention
	QueueTTL  = queueTTL
	PingEvery = pingEvery
)

// Member returns owner's entry in queues.
func (b *Backend) Member(owner string) string { return b.inbox.id + ":" + owner }

// Waiters returns how many owners wait here.
func (b *Backend) Waiters() int {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	return len(b.inbox.waiters)
}

// Doubts returns of how many owners an attempt may be on its way.
func (b *Backend) Doubts() int {
	b.doubts.mu.Lock()
	defer b.doubts.mu.Unlock()
	return len(b.doubts.owners)
}
