package redislock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// WithWaitReplicas makes every acquisition wait until n replicas have confirmed
// that they have it, so that it survives a failover to one of them. Renewals and
// releases do not wait. Where too few confirm within the timeout the acquisition
// fails, with an error that does not wrap distlock.ErrNotAcquired: it may be repeated
// with the same owner, and must be released. The Locker does both.
//
// It waits with WAIT, on the connection that has written, because WAIT counts
// nothing else. So the client must be a [*redis.Client], a [*redis.ClusterClient]
// or a [*redis.Ring]; with another New panics. The timeout must be shorter than
// the operation timeout, or New panics. In a Cluster an acquisition that runs into
// the move of its slot is not confirmed. The default is not to wait; n below 1, or
// a timeout of less than a millisecond, panics.
func WithWaitReplicas(n int, timeout time.Duration) Option {
	if n < 1 {
		panic(fmt.Sprintf("redislock: WithWaitReplicas: %d replicas", n))
	}
	checkDuration("WithWaitReplicas", timeout)
	return func(o *options) { o.replicas = replicas{n, timeout} }
}

// replicas says how many of them must confirm a lock, and in what time.
type replicas struct {
	n       int
	timeout time.Duration
}

// check panics if the replicas cannot be asked.
func (r replicas) check(client redis.UniversalClient, limit time.Duration) {
	if r.n == 0 {
		return
	}
	switch client.(type) {
	case *redis.Client, *redis.ClusterClient, *redis.Ring:
	default:
		panic(fmt.Sprintf("redislock: WithWaitReplicas: a %T may have many connections", client))
	}
	if r.timeout >= limit {
		panic(fmt.Sprintf("redislock: WithWaitReplicas: %v is not shorter than the operation timeout of %v", r.timeout, limit))
	}
}

// unconfirmed is the error for a lock that too few replicas have.
func (r replicas) unconfirmed(got int) error {
	return fmt.Errorf("redislock: %d of %d replicas have confirmed the lock within %v", got, r.n, r.timeout)
}

// concern reports whether the call is one that they must confirm.
func (r replicas) concern(c scriptCall) bool {
	return (c.script == acquireScript || c.script == shareScript) &&
		slices.ContainsFunc(c.ops, func(o *op) bool { return o.how != prolong })
}

// execute carries out the calls, each on one connection to the server that has its
// keys, with a WAIT behind it there. A pipeline has one connection.
func (r replicas) execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	var servers []*redis.Client
	groups := make(map[*redis.Client][]int)
	for i := range calls {
		s, err := r.server(ctx, client, calls[i].ops[0].keys[0])
		if err != nil {
			calls[i].cmd.SetErr(err)
			continue
		}
		if groups[s] == nil {
			servers = append(servers, s)
		}
		groups[s] = append(groups[s], i)
	}
	for _, s := range servers {
		r.executeOn(ctx, s, client, calls, groups[s])
	}
}

// server returns the client of the server that has the key.
func (replicas) server(ctx context.Context, client redis.UniversalClient, key string) (*redis.Client, error) {
	if find := (nodes{client: client}).server(); find != nil {
		return find(ctx, key)
	}
	plain, _ := client.(*redis.Client) // New has seen to it
	return plain, nil
}

func (r replicas) executeOn(ctx context.Context, server *redis.Client, client redis.UniversalClient, calls []scriptCall, which []int) {
	if d := server.Options().ReadTimeout; d > 0 && d <= r.timeout {
		server = server.WithTimeout(d + r.timeout)
	}
	pipe := server.Pipeline()
	for _, i := range which {
		_ = pipe.Process(ctx, calls[i].cmd) // queues it
	}
	wait := pipe.Do(ctx, "wait", r.n, r.timeout.Milliseconds())
	rediskit.Exec(ctx, pipe)
	var moved []scriptCall
	var at []int
	for _, i := range which {
		c := &calls[i]
		c.confirmed, _ = wait.Int() // none, if there is no answer
		if err := c.cmd.Err(); redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "ASK") {
			// The client finds the server, but nobody finds its replicas.
			c.confirmed = 0
			moved, at = append(moved, *c), append(at, i)
		}
	}
	if len(moved) == 0 {
		return
	}
	for m := range moved {
		moved[m].cmd = redis.NewCmd(ctx, moved[m].cmd.Args()...)
		moved[m].cmd.SetFirstKeyPos(3)
	}
	execute(ctx, client, moved)
	for m, i := range at {
		calls[i] = moved[m]
	}
}
