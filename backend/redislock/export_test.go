package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// Internals for the tests of scripts and leaks.
var (
	RenewScript   = renewScript
	RenewShared   = renewScript
	RunShare      = RunAcquire
	RunUnshare    = RunRelease
	ReleaseSource = releaseScript.Source()
	LockKeys      = lockKeys
	Evicts        = evicts
	Sources       = []string{acquireScript.Source(), releaseScript.Source(), renewScript.Source()}
)

const (
	Retention    = tombstoneTTL
	TombstoneTTL = tombstoneTTL
	QueueTTL     = queueTTL
	PingEvery    = pingEvery
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

// InDoubt returns the number of owners with an attempt in doubt.
func (b *Backend) InDoubt() int {
	b.inDoubt.mu.Lock()
	defer b.inDoubt.mu.Unlock()
	return len(b.inDoubt.owners)
}

// ScriptOp is the input of a script for one lock.
type ScriptOp struct {
	Key, Owner string
	TTL        time.Duration
	Mode       string // try, enqueue or extend
	InDoubt    bool
	Tokens     int
	LastToken  int64
	Share      string // r or p<n>: see lock.lua
}

// RunAcquire runs acquire.lua and RunRelease runs release.lua, once for all locks. They
// return the lines of the reply and the first error.
func RunAcquire(ctx context.Context, c redis.UniversalClient, inbox string, claim time.Duration, prefix string, ops ...ScriptOp) ([]string, error) {
	return runScript(ctx, c, acquireScript, inbox, claim, prefix, ops)
}

func RunRelease(ctx context.Context, c redis.UniversalClient, inbox string, claim time.Duration, prefix string, ops ...ScriptOp) ([]string, error) {
	return runScript(ctx, c, releaseScript, inbox, claim, prefix, ops)
}

func runScript(ctx context.Context, c redis.UniversalClient, s *luascript.Script, inbox string, claim time.Duration, prefix string, in []ScriptOp) ([]string, error) {
	batch := make([]*request, len(in))
	which := make([]int, len(in))
	for i, o := range in {
		batch[i], which[i] = &request{
			script: s, keys: lockKeys(o.Key), owner: o.Owner,
			ttl: o.TTL.Milliseconds(), mode: o.Mode, inDoubt: rediskit.Flag(o.InDoubt), share: o.Share,
		}, i
	}
	results := make([]dispatch.Result[reply], len(batch))
	d := &dispatcher{processArgs: &processArgs{inbox: inbox, claim: claim.Milliseconds(), prefix: prefix, topology: newTopology(c)}}
	d.sendCalls(ctx, c, batch, results, which, len(in))
	lines := make([]string, len(results))
	var err error
	for i, r := range results {
		lines[i] = r.Value.line
		if err == nil {
			err = r.Err
		}
	}
	return lines, err
}
