package redissonlock

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// turns leaves others their turn. A process that releases a key is the first to know that it is
// free, so its next attempt would come before those of the waiters that have to receive a
// message first. It waits if others have heard of the release. Redisson has no queue to tell
// them apart from those that only listen.
type turns struct {
	mu    sync.Mutex
	heard map[string]time.Time // by key: the last release that others have heard of
}

const (
	// turnTime is how long others are left to take a key. It is longer than a message and an
	// attempt take on a busy machine.
	turnTime = 5 * time.Millisecond

	// turnTokens is how many tokens a grant has while others listen: so often the key may
	// pass from one holder in this process to the next until others have their turn.
	turnTokens = 8

	// othersListen is for how long others are believed to listen.
	othersListen = time.Second

	// manyTurns is the number of keys at which old ones are removed.
	manyTurns = 1024
)

// leave notes that others have heard of the release of a key.
func (t *turns) leave(key string) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heard == nil {
		t.heard = make(map[string]time.Time)
	}
	if len(t.heard) >= manyTurns {
		maps.DeleteFunc(t.heard, func(_ string, heard time.Time) bool { return now.Sub(heard) > othersListen })
	}
	t.heard[key] = now
}

// wait waits until others had their turn, and returns how many tokens of n the next grant may
// have.
func (t *turns) wait(ctx context.Context, key string, n int) int {
	t.mu.Lock()
	heard, ok := t.heard[key]
	t.mu.Unlock()
	ago := time.Since(heard)
	switch {
	case !ok || ago > othersListen:
		return n
	case ago < turnTime:
		rediskit.Sleep(ctx, turnTime-ago)
	}
	return min(n, turnTokens)
}
