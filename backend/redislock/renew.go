package redislock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
	"github.com/distlock-go/distlock/driver"
)

var errTooMany = fmt.Errorf("not sent, because %d renewals for this server have no answer yet", maxRenewals)

// Renew extends the grants. It sends one script for every 256 grants. If there may be
// several servers, it sends pipelines of the same size, to all servers at once, and
// reports each result when its server has answered. The outcome of a grant is unknown if
// its server did not answer within the operation timeout. Then further batches of this call
// for that server are not sent, and their outcomes are unknown, too.
//
// At most four batches are in progress for each server. A further one waits for one of
// them to end; if ctx ends first, it was not sent.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	rediskit.Renew(ctx, b.calls.server, grants, report, func(server *redis.Client, batch []int) ([]error, error) {
		return b.renew(ctx, b.dispatcher.siteFor(server), grants, batch)
	})
}

// renew sends one batch to a server. It fails if nothing was answered.
func (b *backend) renew(ctx context.Context, at *site, grants []driver.Grant, which []int) ([]error, error) {
	select {
	case at.renewals <- struct{}{}:
		defer func() { <-at.renewals }()
	case <-ctx.Done():
		return nil, at.server.Explain(errTooMany)
	}
	batch := make([]*request, len(which))
	for n, i := range which {
		g := &grants[i]
		batch[n] = &request{
			script: renewScript, key: g.Key, owner: g.Owner, ttl: g.TTL.Milliseconds(),
			mode: rediskit.Flag(g.Retain), share: share(g.Mode, g.Permits),
		}
	}
	results, err := rediskit.Operate(ctx, at.server, b.calls.own.Client(), func(ctx context.Context, _ redis.UniversalClient) ([]dispatch.Result[reply], error) {
		results := b.dispatcher.send(ctx, at.server, batch)
		if slices.ContainsFunc(results, func(r dispatch.Result[reply]) bool { return rediskit.Answered(r.Err) }) {
			return results, nil
		}
		return nil, results[0].Err
	})
	errs := make([]error, len(results))
	for n, r := range results {
		errs[n] = renewal(ctx, at, r)
	}
	return errs, err
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
