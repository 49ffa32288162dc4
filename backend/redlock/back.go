package redlock

import (
	"context"
	"time"
)

// takeAllBack gives back, after a failure, what this attempt has taken, and begins
// a new generation. Nodes that have not answered follow when they do.
func (a *attempt) takeAllBack(ctx context.Context) {
	a.mu.Lock()
	again := false
	for _, ans := range a.answers {
		again = again || ans.kind != held && ans.kind != foreign && ans.kind != declined
	}
	a.mu.Unlock()
	if again {
		a.b.claims.failed(a.claim, a.generation)
	}
	for i := range a.answers {
		a.takeBack(ctx, i)
	}
}

// takeBack gives back what this attempt has taken on one node, if it has.
func (a *attempt) takeBack(ctx context.Context, i int) {
	a.mu.Lock()
	ans := &a.answers[i]
	// What it had already it may have as the holder, whose lock is not taken away
	// because other nodes do not answer: after an error the caller releases, or
	// tries again.
	due := !ans.back && (ans.kind == taken || ans.kind == silent || ans.kind == already && a.certain)
	ans.back = ans.back || due
	doubts := 0
	if ans.kind == silent {
		doubts = 1
	}
	a.mu.Unlock()
	if !due {
		return
	}
	a.b.claims.after(a.claim, i, func() {
		a.b.giveBack(ctx, i, debt{
			key: a.r.Key, owner: a.r.Owner, generation: a.generation, ttl: a.r.TTL,
			claim: a.claim, doubts: doubts,
		}, nil)
	})
}

// debt is a lock, or a doubt, that a node must be rid of.
type debt struct {
	key, owner  string
	generation  int
	first, last uint64
	ttl         time.Duration

	claim  *claim // held for as long as the debt lives
	doubts int    // that it settles
}

// burial is for how long an owner is refused of whom something may still be on
// its way. What arrives later than that takes the key for nobody for one lease.
func (d *debt) burial() time.Duration {
	if d.doubts == 0 {
		return 0
	}
	return max(onNode(d.ttl), time.Minute)
}

func (d *debt) keys() []string {
	return []string{d.key, tokenKey(d.key), graveKey(d.key, d.owner, d.generation)}
}

func (d *debt) args() []any {
	return []any{d.owner, d.generation, millis(d.burial()), d.first, d.last}
}
