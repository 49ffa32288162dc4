package redissonlock

import (
	"context"
	"sync"
	"time"

	"github.com/distlock-go/distlock/internal/clock"
)

// turnTime is how long others are left to take a key. It is longer than a message and
// an attempt take on a busy machine.
const turnTime = 3 * time.Millisecond

// turns leaves others their turn. A process that releases a key is the first to know
// that it is free, so its next attempt would come before the waiters, which have
// to receive a message first. It waits if others have heard of the release. Redisson
// has no queue to tell them apart from clients that only listen.
type turns struct{ releases sync.Map } // the times of the releases, by key

// leave notes that others have heard of the release of a key.
func (t *turns) leave(key string) {
	now := time.Now()
	t.releases.Store(key, now)
	time.AfterFunc(turnTime, func() { t.releases.CompareAndDelete(key, now) })
}

// wait waits until others had their turn.
func (t *turns) wait(ctx context.Context, key string) {
	if at, ok := t.releases.Load(key); ok {
		clock.Sleep(ctx, turnTime-time.Since(at.(time.Time)))
	}
}
