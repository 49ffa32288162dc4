package redislock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/internal/clock"
)

// batcher sends the requests for one server.
type batcher = dispatch.Batcher[*request, reply]

// dispatcher runs scripts for single locks. It has one batcher for each server.
//
// The client may exceed the deadline of an operation: while go-redis waits for a reply,
// it ignores cancellations and, by default, deadlines. So a batch runs on a goroutine
// of its own, which is abandoned if it is late. A request that goes directly uses a
// copy of the client with short timeouts: see package dispatch.
//
// Every command is sent once by go-redis. If a connection breaks, the dispatcher sends
// again what may be sent twice. Then the outcome is not known: the first copy may have
// been carried out, or may still be.
type dispatcher struct {
	*calls // the connections, the goroutines, and the limit of one batch

	topology    topology
	processArgs *processArgs
	replicas    replicas
	plain       plain

	mu            sync.RWMutex
	sites         map[string]*site // by the server's address
	defaultSite   *site            // for all keys, if there is one server or the server is not known
	topologyKnown atomic.Bool      // the server of a key is known without asking a server
}

// site is what the dispatcher has for one server.
type site struct {
	*batcher

	server   *rediskit.Server
	renewals chan struct{} // one element for each renewal in progress
}

const (
	// redirectPause is the pause before a request that a Cluster refused is sent again.
	redirectPause = 10 * time.Millisecond

	// maxRepeats is how often a batch is repeated after its connection broke. More than
	// one connection may have been closed meanwhile.
	maxRepeats = 3

	// maxRenewals is the number of batches in progress for one server. While a server
	// does not answer, the Locker sends one for each part of its schedule; more of
	// them would only take connections.
	maxRenewals = 4
)

func newDispatcher(c *calls, t topology, args *processArgs, r replicas) *dispatcher {
	d := &dispatcher{calls: c, topology: t, processArgs: args, replicas: r, plain: plain{clockKey: t.clock}, sites: make(map[string]*site)}
	var short *redis.Client
	if r.n == 0 { // to wait for replicas takes too long
		short = c.own.Short(dispatch.DirectTimeout)
	}
	d.defaultSite = d.newSite(c.server, short)
	return d
}

// newSite returns the site of a server. short is a client for it with the timeout of
// direct requests. If short is nil, requests go in batches only.
func (d *dispatcher) newSite(server *rediskit.Server, short *redis.Client) *site {
	cfg := dispatch.Config[*request, reply]{
		Send: func(ctx context.Context, batch []*request) []dispatch.Result[reply] {
			return d.send(ctx, server, batch)
		},
		Timeout: d.limit,
		Slow:    server.Diagnose,
		NoAnswer: func() error {
			rediskit.Reload(d.topology.client)
			return server.Late()
		},
	}
	if short != nil {
		cfg.Direct = func(ctx context.Context, batch []*request, results []dispatch.Result[reply]) {
			d.sendDirect(ctx, short, server, batch, results)
		}
	}
	return &site{server: server, renewals: make(chan struct{}, maxRenewals), batcher: dispatch.New(cfg)}
}

func (d *dispatcher) do(ctx context.Context, r *request) dispatch.Result[reply] {
	if rediskit.Finder(d.topology.client) == nil {
		return d.doAt(ctx, d.defaultSite, r)
	}
	result := d.doAt(ctx, d.siteOf(ctx, r.key), r)
	if rediskit.Redirected(result.Err) {
		result = d.retryRedirect(ctx, r, result)
	}
	return result
}

func (d *dispatcher) doAt(ctx context.Context, s *site, r *request) dispatch.Result[reply] {
	result := s.Do(ctx, r, !r.once)
	if result.Err != nil {
		if rediskit.Answered(result.Err) && r.tried {
			d.undo(ctx, s, r)
		}
		result.Err = s.server.ForCaller(ctx, result.Err)
	}
	return result
}

// undo gives back a lock that a plain attempt may have taken before a script refused to
// look at it, for example because the user may not access the queue. If that fails, the
// lock expires.
func (d *dispatcher) undo(ctx context.Context, s *site, r *request) {
	_, _ = rediskit.Operate(context.WithoutCancel(ctx), s.server, d.own.Client(), func(ctx context.Context, c redis.UniversalClient) (any, error) {
		return undoPlainScript.Run(ctx, c, []string{r.key}, r.owner+" ").Result()
	})
}

// siteOf returns the site of the key's server, where there are several servers. The
// result may be wrong: a pipeline follows redirections.
func (d *dispatcher) siteOf(ctx context.Context, key string) *site {
	find := rediskit.Finder(d.topology.client)
	if d.topologyKnown.Load() {
		server, _ := find(ctx, key)
		return d.siteFor(server)
	}
	server, err := call(ctx, d.calls, func(ctx context.Context, _ redis.UniversalClient) (*redis.Client, error) {
		return find(ctx, key)
	})
	d.topologyKnown.Store(err == nil)
	return d.siteFor(server)
}

// siteFor returns the site of a server, or the default one for nil.
func (d *dispatcher) siteFor(server *redis.Client) *site {
	if server == nil {
		return d.defaultSite
	}
	addr := server.Options().Addr
	d.mu.RLock()
	s := d.sites[addr]
	d.mu.RUnlock()
	if s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sites[addr] == nil {
		d.sites[addr] = d.newSite(rediskit.NewServer("redislock", server, d.background, d.limit), nil)
	}
	return d.sites[addr]
}

// sendDirect sends a batch with a client that has short timeouts.
func (d *dispatcher) sendDirect(ctx context.Context, client *redis.Client, server *rediskit.Server, batch []*request, results []dispatch.Result[reply]) {
	unsent(results)
	if !d.topology.multiKey() { // of a plain attempt, each command may come to another server
		d.sendCalls(ctx, client, batch, results, all(batch))
	} else {
		plain := d.plain.of(ctx, batch)
		d.own.Eager(!plain.wanted)
		sent := d.sendCalls(ctx, client, batch, results, plain.rest, plain.commands...)
		if refused := plain.finish(results, sent); len(refused) > 0 {
			d.sendCalls(ctx, client, batch, results, refused)
		}
		plain.recycle()
	}
	d.sendAlone(ctx, client, batch, results)
	for i := range results {
		server.Leave(client, batch[i].key, results[i].Err)
	}
}

// unsent sets the results of requests that were not sent yet.
func unsent(results []dispatch.Result[reply]) {
	for i := range results {
		results[i].OutcomeKnown = true
	}
}

// all returns the indices of the requests of a batch.
func all(batch []*request) []int {
	which := make([]int, len(batch))
	for i := range which {
		which[i] = i
	}
	return which
}

// send sends a batch to the server. It writes only to what it returns, because it may
// be abandoned.
func (d *dispatcher) send(ctx context.Context, server *rediskit.Server, batch []*request) []dispatch.Result[reply] {
	client := d.own.Client()
	results, left := make([]dispatch.Result[reply], len(batch)), all(batch)
	unsent(results)
	d.sendCalls(ctx, client, batch, results, left)
	d.sendAlone(ctx, client, batch, results)
	for range maxRepeats {
		left = broken(batch, results, left)
		if len(left) == 0 || ctx.Err() != nil {
			break
		}
		d.sendCalls(ctx, client, batch, results, left)
	}
	for i := range results {
		server.Leave(client, batch[i].key, results[i].Err)
	}
	if !rediskit.Answered(results[0].Err) {
		rediskit.Reload(d.topology.client)
	}
	if rediskit.Unexplained(results[0].Err) {
		server.Diagnose()
		for i := range results {
			if rediskit.Unexplained(results[i].Err) {
				results[i].Err = server.NoAnswer(results[i].Err, d.limit)
			}
		}
	}
	return results
}

// sendCalls sends the requests with the given indices once, in one pipeline with the
// other commands if there are any. It returns the time just before that.
func (d *dispatcher) sendCalls(ctx context.Context, client redis.UniversalClient, batch []*request, results []dispatch.Result[reply], which []int, others ...redis.Cmder) time.Time {
	most := 1
	switch {
	case !d.topology.multiKey():
	case batch[0].script == renewScript:
		most = rediskit.MaxRenewals
	default:
		most = maxScriptRequests
	}
	return d.run(ctx, client, callsFor(batch, which, most), results, others...)
}

// run runs the calls and adds their results. Calls that are answered with NOSCRIPT are
// sent again with the script.
func (d *dispatcher) run(ctx context.Context, client redis.UniversalClient, calls []scriptCall, results []dispatch.Result[reply], others ...redis.Cmder) time.Time {
	sent := time.Now()
	for i := range calls {
		for _, r := range calls[i].requests {
			r.waiter.register()
		}
		calls[i].cmd = calls[i].command(ctx, d.processArgs, false)
	}
	d.execute(ctx, client, calls, others...)
	var unknown []scriptCall
	var at []int
	for i := range calls {
		if redis.HasErrorPrefix(calls[i].cmd.Err(), "NOSCRIPT") {
			c := calls[i]
			c.cmd = c.command(ctx, d.processArgs, true)
			unknown, at = append(unknown, c), append(at, i)
		}
	}
	if len(unknown) > 0 {
		d.execute(ctx, client, unknown)
		for n, i := range at {
			calls[i] = unknown[n]
		}
	}
	for i := range calls {
		calls[i].finish(results, sent)
	}
	return sent
}

// execute runs the calls. It waits for replicas if the Backend has to.
func (d *dispatcher) execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall, others ...redis.Cmder) {
	err := func() (err error) {
		defer rediskit.Recover(&err)
		if d.replicas.concern(calls) {
			d.replicas.execute(ctx, client, calls)
		} else {
			execute(ctx, client, calls, others...)
		}
		return nil
	}()
	if err != nil {
		for i := range calls {
			calls[i].cmd.SetErr(err)
		}
	}
}

// sendAlone sends each of the requests again, alone, whose script the server refused as
// a whole: the user may not access one of the keys, or the keys are in several slots.
// Nothing was done.
func (d *dispatcher) sendAlone(ctx context.Context, client redis.UniversalClient, batch []*request, results []dispatch.Result[reply]) {
	var again []int
	for i := range results {
		err := results[i].Err
		switch {
		case err == nil:
			continue
		case redis.HasErrorPrefix(err, "CROSSSLOT"):
			d.topology.foundSlots()
		case len(batch) == 1 || isLine(err, "") || !redis.HasErrorPrefix(err, "NOPERM"):
			continue
		}
		again = append(again, i)
	}
	if len(again) > 0 {
		d.run(ctx, client, callsFor(batch, again, 1), results)
	}
}

// broken returns the requests that are sent again because their connection broke.
func broken(batch []*request, results []dispatch.Result[reply], which []int) (again []int) {
	for _, i := range which {
		if rediskit.Broken(results[i].Err) && !batch[i].once {
			again = append(again, i)
		}
	}
	return again
}

// retryRedirect repeats a request that was answered with a redirect, until it gets
// another answer or the limit of one operation has passed. It waits on its caller's
// goroutine, so other requests are not delayed.
func (d *dispatcher) retryRedirect(ctx context.Context, r *request, result dispatch.Result[reply]) dispatch.Result[reply] {
	trying, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	for rediskit.Redirected(result.Err) {
		rediskit.Reload(d.own.Client()) // with WAIT, go-redis does not see the redirection
		if !clock.Sleep(trying, redirectPause) {
			break
		}
		next := d.doAt(trying, d.siteOf(trying, r.key), r)
		known := result.OutcomeKnown && next.OutcomeKnown
		if trying.Err() == nil || !errors.Is(next.Err, trying.Err()) {
			result = next
		}
		result.OutcomeKnown = known
	}
	return result
}
