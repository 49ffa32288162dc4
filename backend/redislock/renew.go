package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// maxRenewBatch is the number of renewals in one script or pipeline: a script stops the
// server while it runs.
const maxRenewBatch = 256

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

	groups := rediskit.ByServer(b.topology.client, grants, valid, func(split rediskit.Split) ([][]int, error) {
		return call(ctx, b.calls, func(ctx context.Context, _ redis.UniversalClient) ([][]int, error) { return split(ctx) })
	})
	if len(groups) == 1 {
		b.renewAt(ctx, grants, groups[0], report)
		return
	}
	var wg sync.WaitGroup
	for _, group := range groups {
		wg.Go(func() { b.renewAt(ctx, grants, group, report) })
	}
	wg.Wait()
}

// renewAt renews the grants with the indices in group, which are on one server. It
// sends one batch after the other, until one is not answered.
func (b *backend) renewAt(ctx context.Context, grants []driver.Grant, group []int, report func(int, error)) {
	if len(group) == 0 {
		return
	}
	at := b.dispatcher.knownSite(grants[group[0]].Key)
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
	for len(group) > 0 {
		batch := group[:min(maxRenewBatch, len(group))]
		group = group[len(batch):]

		own := b.calls.own.Client()
		answers, err := callAt(ctx, b.calls, at.server, own, func(ctx context.Context, c redis.UniversalClient) ([]error, error) {
			for repeats := 0; ; repeats++ {
				answers, err := b.renewBatch(ctx, c, grants, batch)
				if !rediskit.Broken(err) || repeats == maxRepeats || ctx.Err() != nil {
					return answers, err
				}
			}
		})
		for n, i := range batch {
			result := err
			if err == nil {
				result = answers[n]
			}
			if !errors.Is(result, driver.ErrLost) {
				result = at.server.Explain(result)
				at.server.Leave(own, grants[i].Key, result)
			}
			report(i, result)
		}
		if err != nil {
			rediskit.Reload(b.topology.client)
			for _, i := range group {
				report(i, fmt.Errorf("%w: %w", errNotSent, err))
			}
			return
		}
	}
}

// renewBatch writes only to what it returns, because it may be abandoned.
func (b *backend) renewBatch(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]error, error) {
	if b.topology.multiKey() {
		answers, err := renewScripted(ctx, c, grants, batch)
		switch {
		case redis.HasErrorPrefix(err, "CROSSSLOT"):
			b.topology.foundSlots()
		case !redis.HasErrorPrefix(err, "NOPERM"): // the user may not access one of the keys
			return answers, err
		}
	}
	return renewPipelined(ctx, c, grants, batch)
}

func renewScripted(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]error, error) {
	keys := make([]string, 0, len(batch))
	args := make([]any, 0, 4*len(batch))
	for _, i := range batch {
		keys = append(keys, grants[i].Key)
		args = appendRenewal(args, grants[i])
	}
	text, err := renewScript.Run(ctx, c, keys, args...).Text()
	if err != nil {
		return nil, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) != len(batch) {
		return nil, fmt.Errorf("redislock: renew answered with %d lines instead of %d", len(lines), len(batch))
	}
	results := make([]error, len(batch))
	for n, line := range lines {
		results[n] = renewResult(line)
	}
	return results, nil
}

// appendRenewal appends the arguments of renew.lua for g.
func appendRenewal(args []any, g driver.Grant) []any {
	return append(args, g.Owner, g.TTL.Milliseconds(), share(g.Mode, g.Permits), rediskit.Flag(g.Retain))
}

// renewPipelined sends one script call for each lock. It fails if no call was answered.
func renewPipelined(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]error, error) {
	calls := make([]luascript.Call, len(batch))
	for n, i := range batch {
		calls[n] = luascript.Call{Keys: []string{grants[i].Key}, Args: appendRenewal(nil, grants[i])}
	}
	results, answered := make([]error, len(batch)), false
	for n, cmd := range renewScript.RunAll(ctx, c, calls) {
		line, err := cmd.Text()
		answered = answered || rediskit.Answered(err)
		if err == nil {
			err = renewResult(line)
		}
		results[n] = err
	}
	if !answered {
		return nil, results[0]
	}
	return results, nil
}

// renewResult parses a line of the reply of renew.lua.
func renewResult(line string) error {
	switch text, failed := strings.CutPrefix(line, "-"); {
	case failed:
		return replyError(text)
	case line == "1":
		return nil
	case line == "0":
		return driver.ErrLost
	default:
		return fmt.Errorf("redislock: renew answered %q", line)
	}
}
