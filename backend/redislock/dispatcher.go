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
	// A server is responsive if its last answer took no longer than this.
	responsiveWithin = 10 * time.Millisecond

	// The timeout of a batch that is sent on the caller's goroutine.
	inlineTimeout = 50 * time.Millisecond

	// The pause before an operation that a Cluster refused is sent again. It doubles
	// each time, up to the maximum.
	firstRedirectPause = 5 * time.Millisecond
	maxRedirectPause   = 50 * time.Millisecond
)

// dispatcher runs scripts for single locks. It has one batcher for each server.
//
// The client may exceed the deadline of an operation: while go-redis waits for a reply,
// it ignores cancellations and, by default, deadlines. So a batch runs on a goroutine of
// its own, which is abandoned if it is late. The batch's context has ended by then, so
// go-redis does not try again. A request that was already sent ends with the client's own
// read timeout, and may still be applied.
//
// On a small machine, moving an operation to another goroutine and back costs as much as
// the operation. So a batch for a responsive server runs inline: on the goroutine of one
// of its callers, through a copy of the client with short timeouts. Operations that get
// no answer in this way are sent again on a goroutine of their own, so only idempotent
// operations are sent inline. An inline batch may make its caller exceed its context by
// inlineTimeout. That happens once: the server is not responsive afterwards.
type dispatcher struct {
	*calls // the client, its goroutines, and the limit of one batch

	topology    topology
	processArgs *processArgs
	ops         opPool

	inlineClient   func() redis.UniversalClient // nil if nothing is sent inline
	inlineTimeouts *rolling.Timeout
	responsive     atomic.Bool

	mu             sync.RWMutex
	batchers       map[string]*batcher // by the server's address
	defaultBatcher *batcher            // for all keys, if there is one server or the server is not known
	topologyKnown  atomic.Bool         // the server of a key is known without asking a server
}

func newDispatcher(c *calls, t topology, args *processArgs) *dispatcher {
	d := &dispatcher{
		calls: c, topology: t, processArgs: args, batchers: make(map[string]*batcher),
	}
	d.defaultBatcher = newBatcher(d, c.server)
	if plain, ok := c.client.(*redis.Client); ok && c.limit > inlineTimeout {
		// The copy is made when it is first needed, so that it has the client's hooks.
		d.inlineClient = sync.OnceValue(func() redis.UniversalClient { return plain.WithTimeout(inlineTimeout) })
		d.inlineTimeouts = rolling.New(inlineTimeout)
	}
	return d
}

// do runs o and returns its answer.
func (d *dispatcher) do(ctx context.Context, o *op) answer {
	if d.topology.finder() == nil {
		return d.defaultBatcher.do(ctx, o)
	}
	request := *o
	a := d.batcherOf(ctx, o.keys[0]).do(ctx, o)
	if isRedirect(a.err) {
		a = d.retryRedirect(ctx, &request, a)
	}
	return a
}

// canInline reports whether an operation may be sent on its caller's goroutine.
func (d *dispatcher) canInline() bool { return d.inlineClient != nil && d.responsive.Load() }

// observe records whether the server is responsive.
func (d *dispatcher) observe(responsive bool) {
	if d.responsive.Load() != responsive {
		d.responsive.Store(responsive)
	}
}

// knownBatcher returns the batcher for the key's server if that server is known without
// asking a server. Otherwise it returns the default batcher.
func (d *dispatcher) knownBatcher(key string) *batcher {
	if server := d.knownServer(key); server != nil {
		return d.batcherFor(server)
	}
	return d.defaultBatcher
}

// knownServer returns the client of the key's server. It returns nil if there is only one
// server, or if the key's server is not known without asking a server.
func (d *dispatcher) knownServer(key string) *redis.Client {
	find := d.topology.finder()
	if find == nil || !d.topologyKnown.Load() {
		return nil
	}
	server, err := find(context.Background(), key) //nolint:forbidigo // a look-up in memory, not a call
	if err != nil {
		return nil
	}
	return server
}

// batcherOf returns the batcher for the key's server, where there are several servers. The
// result may be wrong: a pipeline follows redirections.
func (d *dispatcher) batcherOf(ctx context.Context, key string) *batcher {
	find := d.topology.finder()
	var server *redis.Client
	var err error
	if d.topologyKnown.Load() {
		server, err = find(ctx, key)
	} else {
		server, err = call(ctx, d.calls, func(ctx context.Context, _ redis.UniversalClient) (*redis.Client, error) {
			return find(ctx, key)
		})
		d.topologyKnown.Store(err == nil)
	}
	if err != nil {
		return d.defaultBatcher
	}
	return d.batcherFor(server)
}

// batcherFor returns the batcher for the server.
func (d *dispatcher) batcherFor(server *redis.Client) *batcher {
	addr := server.Options().Addr
	d.mu.RLock()
	b := d.batchers[addr]
	d.mu.RUnlock()
	if b != nil {
		return b
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.batchers[addr] == nil {
		d.batchers[addr] = newBatcher(d, rediskit.NewServer("redislock", server, d.background))
	}
	return d.batchers[addr]
}

// send runs a batch through client. It writes only to what it returns, because it may be
// abandoned.
func (d *dispatcher) send(ctx context.Context, client redis.UniversalClient, batch []*op) []answer {
	answers := make([]answer, len(batch))
	most := 1
	if d.topology.multiKey() {
		most = maxScriptOps
	}
	sendCalls(ctx, client, callsFor(batch, answers, most), d.processArgs)
	var alone []*op
	var which []int
	for i, o := range batch {
		if redis.HasErrorPrefix(answers[i].err, "CROSSSLOT") {
			// The client is for one server, but that is part of a Cluster.
			d.topology.foundSlots()
		} else if !isOfOneKey(answers[i].err) {
			continue
		}
		alone, which = append(alone, o), append(which, i)
	}
	if len(alone) == 0 {
		return answers
	}
	again := make([]answer, len(alone))
	sendCalls(ctx, client, callsFor(alone, again, 1), d.processArgs)
	for n, i := range which {
		// A script that fails keeps what it did before it failed. To repeat that does no
		// harm, but a repeated release may find another holder.
		again[n].outcomeKnown = again[n].outcomeKnown && (alone[n].mode != "" || redis.HasErrorPrefix(answers[i].err, "CROSSSLOT"))
		answers[i] = again[n]
	}
	return answers
}

// retryRedirect repeats an operation that was answered with a redirect, until it gets
// another answer or the limit of one operation has passed. It waits on its caller's
// goroutine, so other operations are not delayed.
func (d *dispatcher) retryRedirect(ctx context.Context, request *op, a answer) answer {
	trying, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	for pause := firstRedirectPause; isRedirect(a.err); pause = min(2*pause, maxRedirectPause) {
		if !sleep(trying, nil, pause) {
			break
		}
		o := d.ops.get()
		events := o.events
		*o = *request
		o.events = events
		next := d.batcherOf(trying, o.keys[0]).do(trying, o)
		if trying.Err() != nil && next.err == trying.Err() { //nolint:errorlint // returned unwrapped
			a.outcomeKnown = next.outcomeKnown
			break
		}
		a = next
	}
	if ctx.Err() != nil && isRedirect(a.err) {
		a.err = ctx.Err()
	}
	// The client may have sent the operation twice: then the redirect answers the second
	// request only.
	a.outcomeKnown = a.outcomeKnown && request.mode == ""
	return a
}

// isRedirect reports whether a Cluster refused a script for the moment: the slot is
// moving, and its keys are on two servers; or the slot has moved, and two servers name
// each other; or the slot has no master. Nothing was done. go-redis does not repeat a
// pipeline then, and a single command not for long enough.
func isRedirect(err error) bool {
	for _, prefix := range []string{"TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
