package redislock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/rolling"
)

const (
	// A server whose last answer took no longer than this is prompt.
	promptAnswer = 10 * time.Millisecond

	// What a prompt server is given on the caller's own goroutine.
	shortLimit = 50 * time.Millisecond
)

// fleet carries out what scripts do for single locks, on a lane for each server.
//
// The client cannot be trusted to end an operation in time: by default go-redis
// heeds no deadline while it waits for a reply, and it never heeds a cancellation
// there. So a flight runs on a goroutine that is no caller's, and is left behind
// if it is late. Its context has ended then, which stops it before it tries again;
// an attempt that is on its way ends with the client's own read timeout, and may
// still be applied.
//
// On a small machine, handing an operation to another goroutine and back costs
// as much as the operation. So a flight to a server that is prompt runs on the
// goroutine of one of its callers, through a copy of the client with short
// timeouts. If that gets no answer, what was on it is sent again in the safe way,
// so it must be something that may be sent twice. A caller may overstay its
// context by the short limit; the next one does not, because the server is not
// prompt any more.
type fleet struct {
	*calls // its client, its workers, and its limit of one flight

	nodes nodes
	own   *arguments
	ops   ops

	short   func() redis.UniversalClient // nil if there is no such copy
	shortly *rolling.Timeout
	prompt  atomic.Bool

	mu    sync.RWMutex
	lanes map[string]*lane // by the server's address
	only  *lane            // of all keys, if there is one server, or nobody knows
	asked atomic.Bool      // where a key is, so that it is known without asking the servers
}

func newFleet(c *calls, n nodes, own *arguments) *fleet {
	f := &fleet{
		calls: c, nodes: n, own: own, lanes: make(map[string]*lane),
	}
	f.only = newLane(f, c.server)
	if plain, ok := c.client.(*redis.Client); ok && c.limit > shortLimit {
		// Made when it is first needed, to have the client's hooks.
		f.short = sync.OnceValue(func() redis.UniversalClient { return plain.WithTimeout(shortLimit) })
		f.shortly = rolling.New(shortLimit)
	}
	return f
}

// do carries out o.
func (f *fleet) do(ctx context.Context, o *op) answer {
	if f.nodes.server() == nil {
		return f.only.do(ctx, o)
	}
	what := *o
	a := f.lane(ctx, o.keys[0]).do(ctx, o)
	if refused(a.err) {
		a = f.insist(ctx, &what, a)
	}
	return a
}

// near reports whether an operation may run on its caller's goroutine.
func (f *fleet) near() bool { return f.short != nil && f.prompt.Load() }

// noticed records whether the server was prompt.
func (f *fleet) noticed(prompt bool) {
	if f.prompt.Load() != prompt {
		f.prompt.Store(prompt)
	}
}

// knownLane returns the lane of the server that has the key, if it is known without
// asking a server; otherwise the lane of all keys.
func (f *fleet) knownLane(key string) *lane {
	if at := f.known(key); at != nil {
		return f.laneTo(at)
	}
	return f.only
}

// known returns the client of the server that has the key, or nil if it is not known
// without asking a server, or if there is only one server.
func (f *fleet) known(key string) *redis.Client {
	server := f.nodes.server()
	if server == nil || !f.asked.Load() {
		return nil
	}
	at, err := server(context.Background(), key) //nolint:forbidigo // no call: what is known is looked up
	if err != nil {
		return nil
	}
	return at
}

// lane returns the lane of the server that has the key, where there are several.
// It need not be right: a pipeline follows redirections.
func (f *fleet) lane(ctx context.Context, key string) *lane {
	server := f.nodes.server()
	var at *redis.Client
	var err error
	if f.asked.Load() {
		at, err = server(ctx, key)
	} else {
		at, err = call(ctx, f.calls, func(ctx context.Context, _ redis.UniversalClient) (*redis.Client, error) {
			return server(ctx, key)
		})
		f.asked.Store(err == nil)
	}
	if err != nil {
		return f.only
	}
	return f.laneTo(at)
}

// laneTo returns the lane of the given server.
func (f *fleet) laneTo(at *redis.Client) *lane {
	addr := at.Options().Addr
	f.mu.RLock()
	l := f.lanes[addr]
	f.mu.RUnlock()
	if l != nil {
		return l
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lanes[addr] == nil {
		f.lanes[addr] = newLane(f, rediskit.NewServer("redislock", at, f.background))
	}
	return f.lanes[addr]
}
