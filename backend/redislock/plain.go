package redislock

import (
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/internal/clock"
)

const (
	// clockLag is how far the clock may be behind the server's time for a plain attempt. A
	// replica that becomes the master may lack the last increments. By then more time has
	// passed, so the next token comes from a script, and is the server's time.
	clockLag = 20 * time.Millisecond

	// plainTokens is the largest number of tokens of a plain attempt. If it were larger, the
	// clock could overtake the server's time.
	plainTokens = 8

	// A clock with a smaller value was lost, and has been incremented since. One with a value
	// from maxToken on is refused: see last_issued in time.lua.
	minToken = 1e14
	maxToken = 1<<53 - 1
)

// plain takes and gives back exclusive locks that nobody else wants. It costs the server about
// what a lock without queue and tokens costs. Whatever it finds in its way it leaves to the
// scripts: a holder, a waiter, a tombstone.
//
// An attempt is three commands in one pipeline:
//
//	SET <key> "<owner> ~<token>" NX PX <ttl>
//	INCRBY distlock:clock <tokens>
//	EXISTS <queue> <tombstones>
//
// Other clients may come between them. The tokens are issued when the owner has the lock, so
// all earlier owners have had theirs, and all later ones will get larger ones. A forced release
// between the commands leaves a tombstone, and EXISTS finds it. An attempt may also take the
// lock past the queue: then a script gives it back. Or it arrives after the release of its
// owner: then the next attempt of another owner finds the tombstone, and deletes the lock.
type plain struct {
	clock atomic.Pointer[clockReading] // the last one, or nil

	// denied is set if the user may not use INCRBY.
	denied atomic.Bool

	// wanted is set for keys, by their hashes, that somebody else had or waited for lately.
	// To ask again would cost a round trip.
	wanted [256]atomic.Bool
}

// clockReading says that the clock was not behind the server's time at that moment.
type clockReading struct {
	token string
	at    time.Time
}

var plainSeed = maphash.MakeSeed()

// mark returns the mark of a key in wanted.
func (p *plain) mark(key string) *atomic.Bool {
	return &p.wanted[maphash.String(plainSeed, key)%uint64(len(p.wanted))]
}

// granted notes a grant of a script that has set the clock.
func (p *plain) granted(key string, token uint64, sent time.Time, contended bool) {
	p.clock.Store(&clockReading{fmt.Sprintf("%016d", token), sent})
	if mark := p.mark(key); !contended && mark.Load() {
		mark.Store(false)
	}
}

// do sends r. It returns false if a script has to be sent.
func (p *plain) do(ctx context.Context, client *redis.Client, r *request) (dispatch.Result[reply], bool) {
	none := dispatch.Result[reply]{}
	switch {
	case !r.plain || r.share != "" || p.mark(r.keys[0]).Load():
		return none, false
	case r.mode == "":
		return p.release(ctx, client, r)
	case !p.denied.Load():
		return p.acquire(ctx, client, r)
	default:
		return none, false
	}
}

// acquire makes an attempt.
func (p *plain) acquire(ctx context.Context, client *redis.Client, r *request) (result dispatch.Result[reply], done bool) {
	sent, reading := time.Now(), p.clock.Load()
	if reading == nil || clock.Elapsed(reading.at, sent) > clockLag {
		return result, false
	}
	value := r.owner + " ~" + reading.token
	tokens := min(max(r.tokens, 1), plainTokens)
	set := once{redis.NewStatusCmd(ctx, "set", &r.keys[0], &value, "px", &r.ttl, "nx")}
	issue := redis.NewIntCmd(ctx, "incrby", clockKey, tokens)
	others := redis.NewIntCmd(ctx, "exists", &r.keys[1], &r.keys[2])
	pipe := client.Pipeline()
	for _, cmd := range []redis.Cmder{set, issue, others} {
		_ = pipe.Process(ctx, cmd) // queues it
	}
	rediskit.Exec(ctx, pipe)
	for _, cmd := range []redis.Cmder{set, issue, others} {
		if !rediskit.Answered(cmd.Err()) {
			p.clock.Store(nil)
			result.Err = cmd.Err()
			return result, true
		}
	}
	switch last := issue.Val(); {
	case redis.HasErrorPrefix(issue.Err(), "NOPERM"):
		p.denied.Store(true)
	case set.Err() != nil, others.Val() > 0:
		p.mark(r.keys[0]).Store(true)
	case issue.Err() == nil && others.Err() == nil && last > minToken && last < maxToken:
		before := strconv.FormatInt(last-int64(tokens), 10)
		result.Value.line = "1 " + before + " " + strconv.FormatInt(last, 10) + " 0"
		result.Sent, result.OutcomeKnown = sent, true
		return result, true
	default:
		p.clock.Store(nil)
	}
	return result, false
}

// release gives back a lock.
func (p *plain) release(ctx context.Context, client *redis.Client, r *request) (result dispatch.Result[reply], done bool) {
	owner := r.owner + " "
	sent := time.Now()
	line, err := releasePlainScript.Run(ctx, client, r.keys[:2], &owner).Text()
	switch {
	case !rediskit.Answered(err):
		result.Err = err
		return result, true
	case err == nil && line == replyHeld:
		result.Value.line, result.Sent, result.OutcomeKnown = line, sent, true
		return result, true
	default:
		p.mark(r.keys[0]).Store(true)
		return result, false
	}
}

// once is a command that go-redis sends once, whatever the options of the client say, and so
// its pipeline: see [rediskit.Cmd].
type once struct{ *redis.StatusCmd }

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }
