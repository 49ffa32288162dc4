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
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
)

var (
	errNotSent = errors.New("redislock: not sent, because the batch before it failed")
	errTooMany = fmt.Errorf("not sent, because %d renewals for this server have no answer yet", maxRenewals)
)

// Renew extends the grants. It sends one script for every 256 grants. If there may be
// several servers, it sends pipelines of the same size, to all servers at once, and
// reports each result when its server has answered. The outcome of a grant is unknown if
// its server did not answer within the operation timeout. Then further batches of this call
// for that server are not sent, and their outcomes are unknown, too.
//
// At most four renewals are in progress for each server. A further one waits for one of
// them to end; if ctx ends first, it was not sent.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	valid := make([]int, 0, len(grants))
	for i, g := range grants {
		// A PEXPIRE of zero would delete the lock.
		if g.TTL < time.Millisecond {
			report(i, fmt.Errorf("redislock: a TTL of %v is less than a millisecond", g.TTL))
			continue
		}
		valid = append(valid, i)
	}

	var wg sync.WaitGroup
	for server, group := range rediskit.ByServer(ctx, b.calls.server, grants, valid) {
		wg.Go(func() { b.renewAt(ctx, b.dispatcher.siteFor(server), grants, group, report) })
	}
	wg.Wait()
}

// renewAt renews the grants with the indices in group, which are on one server. It
// sends one batch after the other, until one is not answered.
func (b *backend) renewAt(ctx context.Context, at *site, grants []driver.Grant, group []int, report func(int, error)) {
	select {
	case at.renewals <- struct{}{}:
		defer func() { <-at.renewals }()
	case <-ctx.Done():
		err := at.server.Explain(errTooMany)
		for _, i := range group {
			report(i, err)
		}
		return
	}
	var notSent error
	for batch := range slices.Chunk(group, maxRenewBatch) {
		if notSent != nil {
			for _, i := range batch {
				report(i, notSent)
			}
			continue
		}
		results, err := b.renewBatch(ctx, at, grants, batch)
		for n, i := range batch {
			if err != nil {
				report(i, err)
			} else {
				report(i, renewal(ctx, at, results[n]))
			}
		}
		if err != nil {
			notSent = fmt.Errorf("%w: %w", errNotSent, err)
			rediskit.Reload(b.topology.client)
		}
	}
}

// renewBatch sends one batch. It fails if nothing was answered.
func (b *backend) renewBatch(ctx context.Context, at *site, grants []driver.Grant, which []int) ([]dispatch.Result[reply], error) {
	batch := make([]*request, len(which))
	for n, i := range which {
		g := &grants[i]
		batch[n] = &request{
			script: renewScript, key: g.Key, owner: g.Owner, ttl: g.TTL.Milliseconds(),
			mode: rediskit.Flag(g.Retain), share: share(g.Mode, g.Permits),
		}
	}
	return rediskit.Operate(ctx, at.server, b.calls.own.Client(), func(ctx context.Context, _ redis.UniversalClient) ([]dispatch.Result[reply], error) {
		results := b.dispatcher.send(ctx, at.server, batch)
		if slices.ContainsFunc(results, func(r dispatch.Result[reply]) bool { return rediskit.Answered(r.Err) }) {
			return results, nil
		}
		return nil, results[0].Err
	})
}

// renewal returns the result of a renewal.
func renewal(ctx context.Context, at *site, r dispatch.Result[reply]) error {
	switch {
	case r.Err != nil:
		return at.server.ForCaller(ctx, r.Err)
	case r.Value.line == "1":
		return nil
	case r.Value.line == "0":
		return driver.ErrLost
	default:
		return fmt.Errorf("redislock: renew answered %q", r.Value.line)
	}
}
