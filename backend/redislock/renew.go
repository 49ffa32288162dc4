package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// One script or pipeline carries no more renewals than this: a script stops the
// server while it runs.
const renewBatch = 256

// maxRenewals is how many renewals for one server are in progress at most. While a
// server does not answer, the Locker sends a batch for each part of its schedule; more of
// them would only take connections.
const maxRenewals = 4

var (
	errNotSent = errors.New("redislock: not sent, because the batch before it failed")
	errTooMany = fmt.Errorf("not sent, because %d renewals for this server have no answer yet", maxRenewals)
)

// Renew extends the grants with one script for every 256 of them, exclusive ones
// and others apart, or, where the keys are spread over several servers, with one
// pipeline for as many on each. No server's part waits for another's: each result is
// reported with the answer of its server. What a server did not answer within the
// operation timeout is Unknown, and so is what would have been sent to it next.
//
// At most four renewals are in progress for each server. A further one waits for one of
// them to end; if ctx ends first, it was not sent, and its grants are Unknown.
func (b *Backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	grants = slices.Clone(grants) // what is left behind may still read it
	valid := make([]int, 0, len(grants))
	for i, g := range grants {
		// A PEXPIRE of zero would delete the lock.
		if g.TTL < time.Millisecond {
			report(i, driver.RenewResult{Err: fmt.Errorf("redislock: a TTL of %v is less than a millisecond", g.TTL)})
			continue
		}
		valid = append(valid, i)
	}

	groups := b.nodes.group(ctx, b.calls, grants, valid)
	for _, group := range groups {
		byScript(grants, group)
	}
	if len(groups) == 1 {
		b.renewNode(ctx, grants, groups[0], report)
		return
	}
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() { b.renewNode(ctx, grants, group, report) })
	}
	wg.Wait()
}

// renewNode renews those grants that group lists, batch after batch, until one
// has no answer.
func (b *Backend) renewNode(ctx context.Context, grants []driver.Grant, group []int, report func(int, driver.RenewResult)) {
	if len(group) == 0 {
		return
	}
	l := b.fleet.knownLane(grants[group[0]].Key)
	select {
	case l.renewals <- struct{}{}:
		defer func() { <-l.renewals }()
	case <-ctx.Done():
		err := l.server.Explain(fmt.Errorf("%w: %w", errTooMany, ctx.Err()))
		for _, i := range group {
			report(i, driver.RenewResult{Err: err})
		}
		return
	}
	server := l.server
	for len(group) > 0 {
		batch := group[:sameScript(grants, group)]
		group = group[len(batch):]

		answers, err := callAt(ctx, b.calls, server, func(ctx context.Context, c redis.UniversalClient) ([]driver.RenewResult, error) {
			return b.renewBatch(ctx, c, grants, batch)
		})
		for n, i := range batch {
			r := driver.RenewResult{Err: err}
			if err == nil {
				r = answers[n]
				r.Err = server.Explain(r.Err)
			}
			report(i, r)
		}
		if err != nil {
			b.nodes.silent()
			for _, i := range group {
				report(i, driver.RenewResult{Err: fmt.Errorf("%w: %w", errNotSent, err)})
			}
			return
		}
	}
}

// renewBatch writes to nothing but what it returns: it may be left behind.
func (b *Backend) renewBatch(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
	if b.nodes.together() {
		answers, err := renewScripted(ctx, c, grants, batch)
		if !redis.HasErrorPrefix(err, "CROSSSLOT") {
			return answers, err
		}
		// A client for one server, but what answers is a Cluster.
		b.nodes.separate()
	}
	return renewPipelined(ctx, c, grants, batch)
}

func renewScripted(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
	keys := make([]string, 0, len(batch))
	args := make([]any, 0, 2*len(batch))
	for _, i := range batch {
		keys = append(keys, grants[i].Key)
		args = append(args, holding(grants[i]), grants[i].TTL.Milliseconds())
	}
	script := renewal(grants[batch[0]])
	reply, err := integers(script.Run(ctx, c, keys, args...), len(batch))
	if err != nil {
		return nil, err
	}
	results := make([]driver.RenewResult, len(batch))
	for n, renewed := range reply {
		results[n] = renewResult(renewed)
	}
	return results, nil
}

// renewPipelined sends one script call for each lock. Every answer stands for
// itself; those that say NOSCRIPT are sent once more, with the script. It fails
// if there was no answer at all.
func renewPipelined(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
	results := make([]driver.RenewResult, len(batch))
	script := renewal(grants[batch[0]])
	send := func(ns []int, eval func(redis.Scripter, context.Context, []string, ...any) *redis.Cmd) (missing []int) {
		pipe := c.Pipeline()
		cmds := make([]*redis.Cmd, len(ns))
		for j, n := range ns {
			g := grants[batch[n]]
			cmds[j] = eval(pipe, ctx, []string{g.Key}, holding(g), g.TTL.Milliseconds())
		}
		rediskit.Exec(ctx, pipe)
		for j, n := range ns {
			reply, err := integers(cmds[j], 1)
			switch {
			case redis.HasErrorPrefix(err, "NOSCRIPT"):
				missing = append(missing, n)
				results[n].Err = err
			case err != nil:
				results[n].Err = err
			default:
				results[n] = renewResult(reply[0])
			}
		}
		return missing
	}

	all := make([]int, len(batch))
	for n := range all {
		all[n] = n
	}
	missing := send(all, func(s redis.Scripter, ctx context.Context, keys []string, args ...any) *redis.Cmd {
		return script.EvalSha(ctx, s, keys, args...)
	})
	if len(missing) > 0 {
		send(missing, func(s redis.Scripter, ctx context.Context, keys []string, args ...any) *redis.Cmd {
			return script.Eval(ctx, s, keys, args...)
		})
	}
	if !slices.ContainsFunc(results, func(r driver.RenewResult) bool { return rediskit.Answered(r.Err) }) {
		return nil, results[0].Err
	}
	return results, nil
}

func renewResult(renewed int64) driver.RenewResult {
	if renewed == 1 {
		return driver.RenewResult{Status: driver.Renewed}
	}
	return driver.RenewResult{Status: driver.Lost}
}
