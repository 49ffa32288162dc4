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
	heard map[string]heard // by key
}

// heard is the last release of a key that others have heard of.
type heard struct {
	at       time.Time
	redisson bool // Redisson was among them
}

const (
	// turnTime is how long others are left to take a key. It is longer than a message and an
	// attempt take on a busy machine.
	turnTime = 3 * time.Millisecond

	// turnTokens is how many tokens a grant has while Redisson listens, and so how many
	// holders in this process may have the key, one after the other, until others have their
	// turn. A process with Redisson has one holder at a time.
	turnTokens = 2

	// redissonListens is for how long Redisson is believed to listen.
	redissonListens = time.Second

	// manyTurns is the number of keys at which old ones are removed.
	manyTurns = 1024
)

// leave notes that others have heard of the release of a key, and whether Redisson was among
// them.
func (t *turns) leave(key string, redisson bool) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.heard == nil {
		t.heard = make(map[string]heard)
	}
	if len(t.heard) >= manyTurns {
		maps.DeleteFunc(t.heard, func(_ string, h heard) bool { return now.Sub(h.at) > redissonListens })
	}
	t.heard[key] = heard{now, redisson}
}

// wait waits until others had their turn, and returns how many tokens of n the next grant may
// have.
func (t *turns) wait(ctx context.Context, key string, n int) int {
	t.mu.Lock()
	h, ok := t.heard[key]
	t.mu.Unlock()
	ago := time.Since(h.at)
	if ok && ago < turnTime {
		rediskit.Sleep(ctx, turnTime-ago)
	}
	if ok && h.redisson && ago < redissonListens {
		return min(n, turnTokens)
	}
	return n
}
