package redissonlock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// Renew extends the grants, in pipelines of up to 256, in a Cluster for all servers at
// once. If a server does not answer within the operation timeout, the outcome is unknown
// for the grants of that pipeline and of further ones for it.
func (b *backend) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	rediskit.Renew(ctx, b.server, grants, report, func(_ *redis.Client, batch []int) ([]error, error) {
		return b.renew(ctx, grants, batch)
	})
}

// renew renews the grants with the given indexes, which are on one server. It fails if
// none was answered.
func (b *backend) renew(ctx context.Context, grants []driver.Grant, batch []int) ([]error, error) {
	calls := make([]luascript.Call, len(batch))
	for n, i := range batch {
		g := grants[i]
		calls[n] = luascript.Call{Keys: []string{g.Key}, Args: []any{g.Owner, g.TTL.Milliseconds(), rediskit.Flag(g.Retain)}}
	}
	own := b.own.Client()
	cmds, err := rediskit.Operate(ctx, b.server, own, func(ctx context.Context, c redis.UniversalClient) (cmds []*rediskit.Cmd, err error) {
		for repeats := 0; ; repeats++ {
			cmds = renewScript.RunAll(ctx, c, calls)
			if slices.ContainsFunc(cmds, func(c *rediskit.Cmd) bool { return rediskit.Answered(c.Err()) }) {
				return cmds, nil
			}
			if err = cmds[0].Err(); !rediskit.Broken(err) || repeats == maxRepeats || ctx.Err() != nil {
				return nil, err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	results := make([]error, len(batch))
	for n, cmd := range cmds {
		b.server.Leave(own, calls[n].Keys[0], cmd.Err())
		switch extended, err := cmd.Int64(); {
		case err != nil:
			results[n] = b.server.ForCaller(ctx, b.server.Unanswered(err))
		case extended != 1:
			results[n] = driver.ErrLost
		}
	}
	return results, nil
}

// Release gives back the key and wakes waiters. It fails with [driver.ErrLost] if
// another has the key. It also fails with it if the key has no holder and g has tokens:
// then the lease has ended. If a release of the owner had no answer before, the key
// counts as given back by that one, and there is no error.
func (b *backend) Release(ctx context.Context, g driver.Grant) error {
	if err := checkRequest(g); err != nil {
		return err
	}
	unclear := b.inDoubt.Of(g.Owner)
	k := keysOf(g.Key)
	lock, readWrite := channels(g.Key)
	a, err := b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone},
		g.Owner, rediskit.Flag(unclear != 0), b.publish, lock, readWrite)
	if !a.known {
		unclear |= doubt.Release
	}
	if err != nil {
		if !a.known {
			b.inDoubt.Add(g.Owner, doubt.Release)
		}
		return err
	}
	n, _ := a.numbers()
	if len(n) != 2 {
		b.inDoubt.Add(g.Owner, doubt.Release)
		return fmt.Errorf("redissonlock: release answered %q", a.value)
	}
	b.inDoubt.Remove(g.Owner)
	heard := n[1]
	if b.listener.Subscribed(lock) {
		heard-- // this process itself
	}
	if heard > 0 {
		b.turns.leave(g.Key)
	}
	switch {
	case n[0] == isHeld, n[0] == notHeld && g.Token == 0:
		return nil
	case unclear&doubt.Release != 0:
		return nil // sent more than once: an earlier request may have given it back
	case n[0] == notHeld:
		return fmt.Errorf("redissonlock: the lease has ended: %w", driver.ErrLost)
	default:
		return fmt.Errorf("redissonlock: another has the key: %w", driver.ErrLost)
	}
}

// Replies of release.lua.
const (
	isHeld  = 1 // the owner had the key
	notHeld = 2 // the key had no holder
)
