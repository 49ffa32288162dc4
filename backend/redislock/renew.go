package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
// reports each result when its server has answered. A grant is [driver.Unknown] if its
// server did not answer within the operation timeout. Then further batches of this call
// for that server are not sent, and their grants are Unknown, too.
//
// At most four renewals are in progress for each server. A further one waits for one of
// them to end; if ctx ends first, it was not sent, and its grants are Unknown.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	grants = slices.Clone(grants) // an abandoned request may still read it
	valid := make([]int, 0, len(grants))
	for i, g := range grants {
		// A PEXPIRE of zero would delete the lock.
		if g.TTL < time.Millisecond {
			report(i, driver.RenewResult{Err: fmt.Errorf("redislock: a TTL of %v is less than a millisecond", g.TTL)})
			continue
		}
		valid = append(valid, i)
	}

	groups := b.topology.groupByServer(ctx, b.calls, grants, valid)
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
func (b *backend) renewAt(ctx context.Context, grants []driver.Grant, group []int, report func(int, driver.RenewResult)) {
	if len(group) == 0 {
		return
	}
	at := b.dispatcher.knownSite(grants[group[0]].Key)
	select {
	case at.renewals <- struct{}{}:
		defer func() { <-at.renewals }()
	case <-ctx.Done():
		err := at.server.Explain(fmt.Errorf("%w: %w", errTooMany, ctx.Err()))
		for _, i := range group {
			report(i, driver.RenewResult{Err: err})
		}
		return
	}
	for len(group) > 0 {
		batch := group[:min(maxRenewBatch, len(group))]
		group = group[len(batch):]

		own := b.calls.own.Client()
		answers, err := callAt(ctx, b.calls, at.server, own, func(ctx context.Context, c redis.UniversalClient) ([]driver.RenewResult, error) {
			for repeats := 0; ; repeats++ {
				answers, err := b.renewBatch(ctx, c, grants, batch)
				if !rediskit.Broken(err) || repeats == maxRepeats || ctx.Err() != nil {
					return answers, err
				}
			}
		})
		for n, i := range batch {
			r := driver.RenewResult{Err: err}
			if err == nil {
				r = answers[n]
				r.Err = at.server.Explain(r.Err)
			}
			at.server.Leave(own, grants[i].Key, r.Err)
			report(i, r)
		}
		if err != nil {
			rediskit.Reload(b.topology.client)
			for _, i := range group {
				report(i, driver.RenewResult{Err: fmt.Errorf("%w: %w", errNotSent, err)})
			}
			return
		}
	}
}

// renewBatch writes only to what it returns, because it may be abandoned.
func (b *backend) renewBatch(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
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

func renewScripted(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
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
	results := make([]driver.RenewResult, len(batch))
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
func renewPipelined(ctx context.Context, c redis.UniversalClient, grants []driver.Grant, batch []int) ([]driver.RenewResult, error) {
	calls := make([]luascript.Call, len(batch))
	for n, i := range batch {
		calls[n] = luascript.Call{Keys: []string{grants[i].Key}, Args: appendRenewal(nil, grants[i])}
	}
	results := make([]driver.RenewResult, len(batch))
	for n, cmd := range renewScript.RunAll(ctx, c, calls) {
		line, err := cmd.Text()
		if err != nil {
			results[n].Err = err
			continue
		}
		results[n] = renewResult(line)
	}
	if !slices.ContainsFunc(results, func(r driver.RenewResult) bool { return rediskit.Answered(r.Err) }) {
		return nil, results[0].Err
	}
	return results, nil
}

// renewResult parses a line of the reply of renew.lua.
func renewResult(line string) driver.RenewResult {
	switch text, failed := strings.CutPrefix(line, "-"); {
	case failed:
		return driver.RenewResult{Err: replyError(text)}
	case line == "1":
		return driver.RenewResult{Status: driver.Renewed}
	case line == "0":
		return driver.RenewResult{Status: driver.Lost}
	default:
		return driver.RenewResult{Err: fmt.Errorf("redislock: renew answered %q", line)}
	}
}
