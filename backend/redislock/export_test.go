package redislock

import (
	"context"
	"errors"
	"strings"
	"testing/fstest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Backend is the type that New returns.
type Backend = backend

// Open is New for tests that use more than a [driver.Backend].
func Open(client redis.UniversalClient, cfg Config) *Backend { return New(client, cfg).(*backend) }

// Internals for the tests of scripts and leaks.
var (
	SlotOf    = slotOf
	SlotClock = slotClock
)

const (
	TombstoneTTL = doubt.TombstoneTTL
	QueueTTL     = queueTTL
	PingEvery    = rediskit.PingEvery
	ClockKey     = defaultClock
	ClaimWindow  = defaultClaimWindow
)

// Member returns owner's entry in queues.
func (b *backend) Member(owner string) string { return b.inbox.id + ":" + owner }

// Waiters returns how many owners wait here.
func (b *backend) Waiters() int {
	b.inbox.mu.Lock()
	defer b.inbox.mu.Unlock()
	return len(b.inbox.waiters)
}

// Doubt notes that an attempt of the owner had no answer.
func (b *backend) Doubt(owner string) { b.inDoubt.Add(owner, doubt.Attempt) }

// InDoubt returns the number of owners with a request in doubt.
func (b *backend) InDoubt() int { return b.inDoubt.Len() }

// InFlight returns the number of batches in flight, Queued that of queued requests.
func (b *backend) InFlight() int {
	n, _ := b.counts()
	return n
}

func (b *backend) Queued() int {
	_, n := b.counts()
	return n
}

func (b *backend) counts() (inFlight, queued int) {
	b.dispatcher.mu.Lock()
	defer b.dispatcher.mu.Unlock()
	inFlight, queued = b.dispatcher.defaultSite.Counts()
	for _, s := range b.dispatcher.sites {
		f, q := s.Counts()
		inFlight, queued = inFlight+f, queued+q
	}
	return inFlight, queued
}

// Scripts are the scripts that have a fast part.
type Scripts struct{ Acquire, Release *luascript.Script }

// The scripts of the Backend, and the same without their fast parts.
var (
	FastScripts = Scripts{acquireScript, releaseScript}
	SlowScripts = Scripts{withoutPrefix(acquireScript), withoutPrefix(releaseScript)}
)

// Other scripts.
var (
	RenewScript = renewScript
	ForceScript = forceReleaseScript
	Sources     = []string{
		acquireScript.Source(), releaseScript.Source(), renewScript.Source(),
		forceReleaseScript.Source(), inspectScript.Source(),
	}
)

// withoutPrefix replaces the fast part of a script by one that answers nothing.
func withoutPrefix(s *luascript.Script) *luascript.Script {
	fast := luascript.Load(luaFiles, strings.Replace(s.Name, ".lua", "_fast.lua", 1), nil).Source()
	before, after, ok := strings.Cut(s.Source(), fast)
	if !ok {
		panic(s.Name + " has no fast part")
	}
	return luascript.Load(fstest.MapFS{s.Name: {Data: []byte(before + "local answers = {}\n" + after)}}, s.Name, nil)
}

// ScriptOp is what a script does for one lock.
type ScriptOp struct {
	Key, Owner string
	TTL        time.Duration
	Mode       string // try, enqueue or extend
	InDoubt    bool
	Share      string // r or p<n>: see lock.lua
	Retain     bool
}

// Caller is what a script call knows of the Backend.
type Caller struct {
	Client        redis.UniversalClient
	Inbox, Prefix string
	Claim         time.Duration
}

// Run runs a script once for all locks. It returns the lines of the reply, and the
// errors among them.
func (c Caller) Run(ctx context.Context, s *luascript.Script, ops ...ScriptOp) ([]string, error) {
	n := len(ops)
	keys := make([]string, 3*n+1)
	keys[3*n] = defaultClock
	args := []any{c.Inbox, c.Claim.Milliseconds(), c.Prefix}
	if s == renewScript {
		keys, args = keys[:n], nil
	}
	for i, o := range ops {
		keys[i] = o.Key
		switch s.Name {
		case renewScript.Name:
			args = append(args, o.Owner, o.TTL.Milliseconds(), rediskit.Flag(o.Retain), o.Share)
			continue
		case acquireScript.Name:
			args = append(args, o.Owner, o.TTL.Milliseconds(), o.Mode, o.Share)
		default:
			args = append(args, o.Owner, rediskit.Flag(o.InDoubt), o.Share)
		}
		for k, name := range lockKeys(o.Key) {
			keys[k*n+i] = name
		}
	}
	text, err := s.Run(ctx, c.Client, keys, args...).Text()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if text, failed := strings.CutPrefix(line, "-"); failed {
			err = errors.Join(err, replyError(text))
		}
	}
	return lines, err
}
