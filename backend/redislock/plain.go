package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/recent"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
)

const (
	// clockLag is how far the clock may be behind the server's time for a plain
	// attempt.
	clockLag = 20 * time.Millisecond

	// maxPlainTTL is the longest lease of a plain attempt. A copy that arrives when its
	// owner has released the lock ends before the tombstone that marks it.
	maxPlainTTL = doubt.TombstoneTTL / 2

	// maxPlainTokens is the largest number of tokens of a plain attempt. From 250,000
	// attempts a second on, the clock overtakes the server's time. Then the scripts do
	// not set it, and plain attempts end for as long as it is ahead.
	maxPlainTokens = 4

	// A clock with a value from maxToken on is refused: see last_issued in time.lua.
	maxToken = 1<<53 - 1
)

// plain takes exclusive locks that nobody else wants. It costs the server about what a
// lock without queue and tokens costs. Whatever it finds in its way it leaves to the
// scripts: a holder, a waiter, a tombstone.
//
// Attempts that are sent together are commands in one pipeline:
//
//	SET <key> "<owner> ~<token>" NX PX <ttl>         for each
//	INCRBY distlock:clock <the tokens of all>
//	EXISTS <queue> <tombstones> <queue> <tombstones> of all
//
// Other clients may come between the commands. The tokens are issued when the owners
// have their locks, so all earlier owners have had theirs, and all later ones will get
// larger ones. A forced release between the commands leaves a tombstone, and EXISTS
// finds it. An attempt may also take the lock past the queue: then a script gives it
// back. Or it arrives after the release of its owner: then the next attempt of another
// owner finds the tombstone, and deletes the lock.
//
// The next connection may lead to another server: to a replica that became the master
// and lacks the last increments, or to one with another clock. So a token is left to a
// script unless it is larger than all tokens that this process knew when it sent the
// attempt.
type plain struct {
	clockKey string

	clock  atomic.Pointer[clockReading] // the last one, or nil
	latest atomic.Uint64                // the largest token that this process knows

	// denied is set if the user may not use INCRBY.
	denied atomic.Bool

	// wanted is set for keys that somebody else had or waited for lately. To ask again
	// would cost a round trip.
	wanted recent.Marks

	unused sync.Pool // of plainBatch
}

// clockReading says that the clock was not behind the server's time at that moment.
type clockReading struct {
	token string
	at    time.Time
}

// saw notes a token. It reports whether no larger one is known.
func (p *plain) saw(token uint64) bool {
	for {
		latest := p.latest.Load()
		if token <= latest {
			return token == latest
		}
		if p.latest.CompareAndSwap(latest, token) {
			return true
		}
	}
}

// granted notes a grant of a script. set says that the script has set the clock to the
// token.
func (p *plain) granted(g driver.Grant, set bool) {
	latest := p.saw(g.LastToken)
	if !set {
		return
	}
	if latest {
		p.clock.Store(&clockReading{fmt.Sprintf("%016d", g.LastToken), g.Sent})
	}
	if mark := p.wanted.Of(g.Key); !g.Contended && mark.Load() {
		mark.Store(false)
	}
}

// plainBatch is what of a batch is sent plainly. It is used again, because most of its
// memory is for arguments.
type plainBatch struct {
	*plain

	batch []*request
	taken []int // the indices of the attempts
	rest  []int // of the other requests

	wanted bool // somebody else had or waited for one of the keys lately

	commands []redis.Cmder // in their order: a SET for each attempt, issue, others
	tokens   int64         // issued to all attempts
	known    int64         // the largest token that was known before
	issue    *redis.IntCmd
	others   *redis.IntCmd

	sets   []redis.StatusCmd
	args   []any
	texts  []text
	buffer []byte // of the argument that is being written
}

// text is an argument that is put together when it is written. All of a plainBatch have
// one buffer, because go-redis writes one argument after the other.
type text struct {
	parts  [5]string
	buffer *[]byte
}

// MarshalBinary implements [encoding.BinaryMarshaler].
func (t *text) MarshalBinary() ([]byte, error) {
	b := (*t.buffer)[:0]
	for _, part := range t.parts {
		b = append(b, part...)
	}
	*t.buffer = b
	return b, nil
}

// of returns what of the batch is sent plainly. The caller recycles it.
func (p *plain) of(ctx context.Context, batch []*request) *plainBatch {
	b, ok := p.unused.Get().(*plainBatch)
	if !ok {
		b = &plainBatch{plain: p}
	}
	b.batch = batch
	reading := p.clock.Load()
	attempts := reading != nil && !p.denied.Load() && clock.Elapsed(reading.at, time.Now()) <= clockLag
	for i, r := range batch {
		wanted := p.wanted.Of(r.key).Load()
		b.wanted = b.wanted || wanted
		if attempts && r.plain && r.share == "" && !wanted {
			b.taken = append(b.taken, i)
		} else {
			b.rest = append(b.rest, i)
		}
	}
	if len(b.taken) > 0 {
		b.attempt(ctx, reading.token)
	}
	return b
}

// recycle ends the use of b.
func (b *plainBatch) recycle() {
	*b = plainBatch{
		plain: b.plain, taken: b.taken[:0], rest: b.rest[:0], commands: b.commands[:0],
		sets: b.sets[:0], args: b.args[:0], texts: b.texts[:0], buffer: b.buffer,
	}
	b.unused.Put(b)
}

// attempt makes the commands of the attempts.
func (b *plainBatch) attempt(ctx context.Context, token string) {
	b.sets = slices.Grow(b.sets, len(b.taken)) // the commands refer to its elements
	end := " ~" + token
	for n, i := range b.taken {
		r := b.batch[i]
		from := len(b.args)
		b.args = append(b.args, "set", &r.key, b.join(r.owner, end), "px", &r.ttl, "nx")
		b.sets = append(b.sets, *redis.NewStatusCmd(ctx, b.since(from)...))
		b.commands = append(b.commands, once{&b.sets[n]})
		b.tokens += plainTokens(r.tokens)
		r.tried = true
	}
	from := len(b.args)
	b.args = append(b.args, "exists")
	for _, i := range b.taken {
		b.args = append(b.args, b.companion(i, queueSuffix), b.companion(i, goneSuffix))
	}
	b.issue, b.others = redis.NewIntCmd(ctx, "incrby", b.clockKey, b.tokens), redis.NewIntCmd(ctx, b.since(from)...)
	b.commands = append(b.commands, b.issue, b.others)
	b.known = int64(b.latest.Load())
}

// since returns the last arguments, as of a command.
func (b *plainBatch) since(from int) []any { return slices.Clip(b.args[from:]) }

// companion returns an argument: another key of the lock of request i. See
// [rediskit.Companion].
func (b *plainBatch) companion(i int, suffix string) *text {
	key := b.batch[i].key
	return b.join(rediskit.Tag(key), "{", key, "}", suffix)
}

// join returns an argument that consists of up to five parts.
func (b *plainBatch) join(parts ...string) *text {
	t := text{buffer: &b.buffer}
	copy(t.parts[:], parts)
	b.texts = append(b.texts, t)
	return &b.texts[len(b.texts)-1]
}

// finish adds the results. It returns the indices of the requests that are left to the
// scripts.
func (b *plainBatch) finish(results []dispatch.Result[reply], sent time.Time) (left []int) {
	if b.issue == nil {
		return nil
	}
	last := b.issue.Val()
	alone := b.issue.Err() == nil && b.others.Err() == nil && b.others.Val() == 0
	switch {
	case redis.HasErrorPrefix(b.issue.Err(), "NOPERM"):
		b.denied.Store(true)
	case b.issue.Err() == nil && (last-b.tokens < b.known || last >= maxToken):
		b.clock.Store(nil)
		alone = false
	}
	issued := last - b.tokens
	for n, i := range b.taken {
		issued += plainTokens(b.batch[i].tokens)
		switch err := unanswered(b.commands[n], b.issue, b.others); {
		case err != nil:
			results[i].Err, results[i].OutcomeKnown = err, false
			b.clock.Store(nil)
		case alone && b.commands[n].Err() == nil:
			results[i].Value.issued, results[i].Sent = uint64(issued), sent
		default:
			b.plain.wanted.Of(b.batch[i].key).Store(true)
			left = append(left, i)
		}
	}
	return left
}

// plainTokens returns how many tokens a plain attempt that asks for so many issues.
func plainTokens(wanted int) int64 { return int64(min(max(wanted, 1), maxPlainTokens)) }

// unanswered returns the error of the first of the commands that has no answer.
func unanswered(cmds ...redis.Cmder) error {
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil && !rediskit.Answered(err) {
			return err
		}
	}
	return nil
}

// once is a command that go-redis sends once, whatever the options of the client say,
// and so its pipeline: see [rediskit.Cmd].
type once struct{ *redis.StatusCmd }

// NoRetry implements [redis.Cmder].
func (once) NoRetry() bool { return true }
