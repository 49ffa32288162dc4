package redislock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// replicas says how many replicas must confirm a lock, and within what time.
type replicas struct {
	n       int
	timeout time.Duration
}

// unconfirmed returns the error for a lock that too few replicas have confirmed.
func (r replicas) unconfirmed(got int) error {
	return fmt.Errorf("redislock: %d of %d replicas have confirmed the lock within %v", got, r.n, r.timeout)
}

// concern reports whether replicas must confirm one of the calls.
func (r replicas) concern(calls []scriptCall) bool {
	return r.n > 0 && slices.ContainsFunc(calls, func(c scriptCall) bool {
		return c.script == acquireScript && slices.ContainsFunc(c.requests, func(r *request) bool { return r.mode != modeExtend })
	})
}

// execute runs the calls. Each server gets a pipeline with its calls and a WAIT: a
// pipeline uses one connection. WAIT cannot follow a redirection, so nothing does here.
func (r replicas) execute(ctx context.Context, client redis.UniversalClient, calls []scriptCall) {
	var servers []*redis.Client
	groups := make(map[*redis.Client][]int)
	for i := range calls {
		s, err := r.server(ctx, client, calls[i].requests[0].key)
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
		r.executeOn(ctx, s, calls, groups[s])
	}
}

// server returns the client of the key's server.
func (replicas) server(ctx context.Context, client redis.UniversalClient, key string) (*redis.Client, error) {
	if find := rediskit.Finder(client); find != nil {
		return find(ctx, key)
	}
	plain, _ := client.(*redis.Client) // New has checked it
	return plain, nil
}

func (r replicas) executeOn(ctx context.Context, server *redis.Client, calls []scriptCall, which []int) {
	if d := server.Options().ReadTimeout; d > 0 && d <= r.timeout {
		server = server.WithTimeout(d + r.timeout)
	}
	pipe := server.Pipeline()
	for _, i := range which {
		_ = pipe.Process(ctx, calls[i].cmd) // queues it
	}
	wait := pipe.Do(ctx, "wait", r.n, r.timeout.Milliseconds())
	rediskit.Exec(ctx, pipe)
	for _, i := range which {
		calls[i].confirmed, _ = wait.Int() // zero if there is no answer
	}
}
