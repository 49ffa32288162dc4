package redislock

import (
	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Internals for the tests of scripts and leaks.
var (
	ReleaseSource = releaseScript.Source()
	LockKeys      = lockKeys
	SlotOf        = slotOf
)

const (
	TombstoneTTL = doubt.TombstoneTTL
	QueueTTL     = queueTTL
	PingEvery    = rediskit.PingEvery
	ClockKey     = clockKey
)

// Member returns owner's entry in queues.
func (b *Backend) Member(owner string) string { return b.inbox.id + ":" + owner }

// Waiters returns how many owners wait here.
func (b *Backend) Waiters() int {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	return len(b.inbox.waiters)
}

// Doubt notes that an attempt of the owner had no answer.
func (b *Backend) Doubt(owner string) { b.inDoubt.Add(owner, doubt.Attempt) }

// InDoubt returns the number of owners with a request in doubt.
func (b *Backend) InDoubt() int { return b.inDoubt.Len() }

// InFlight returns the number of batches in flight, Queued that of queued requests.
func (b *Backend) InFlight() int {
	n, _ := b.counts()
	return n
}

func (b *Backend) Queued() int {
	_, n := b.counts()
	return n
}

func (b *Backend) counts() (inFlight, queued int) {
	b.dispatcher.mu.Lock()
	defer b.dispatcher.mu.Unlock()
	inFlight, queued = b.dispatcher.defaultSite.Counts()
	for _, s := range b.dispatcher.sites {
		f, q := s.Counts()
		inFlight, queued = inFlight+f, queued+q
	}
	return inFlight, queued
}
