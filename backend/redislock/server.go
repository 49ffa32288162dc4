package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// serverKeys is how many keys checkServer uses. A proxy that spreads them over two
// servers has all of them on one with a chance of 1 in 2048.
const serverKeys = 12

var errSeveralServers = errors.New("what a script has written is not what the next commands read: this is not one server, " +
	"but a proxy that spreads keys or reads from replicas; locks need the address of the master itself")

// checkServer asks once whether the client leads to one server. Until that is known, a
// command has the keys of one lock only. A script writes to several keys, and plain
// commands in the same pipeline read them. A server of a Cluster refuses such a script,
// and has a clock for each slot. Without an answer before by, the question remains.
// Other clients than a [redis.Client] know their servers, or are not known here.
func (b *backend) checkServer(ctx context.Context, by time.Time) error {
	t := b.topology
	if _, plain := t.client.(*redis.Client); !plain || t.asked.Done() || t.slotted.Load() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	err := t.asked.Do(ctx, func(ctx context.Context) error {
		one, err := rediskit.Operate(ctx, b.calls.server, b.calls.own.Client(), b.readsBack)
		switch {
		case redis.HasErrorPrefix(err, "CROSSSLOT"):
			t.foundSlots()
		case err == nil && !one:
			err = errSeveralServers
		}
		return err
	})
	if errors.Is(err, errSeveralServers) {
		return b.calls.server.Explain(err)
	}
	return nil
}

// readsBack reports whether plain commands read what a script before them has written.
func (b *backend) readsBack(ctx context.Context, c redis.UniversalClient) (bool, error) {
	value := strconv.FormatUint(rand.Uint64(), 36)
	write := []any{"eval", writeAllScript.Source(), serverKeys}
	keys := make([]string, serverKeys)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s:{%d-%s}", b.cfg.Clock, i, value)
		write = append(write, keys[i])
	}
	written := rediskit.NewCmd(ctx, append(write, value)...)
	pipe := c.Pipeline()
	_ = pipe.Process(ctx, written) // queues it
	reads := make([]*redis.StringCmd, serverKeys)
	for i, key := range keys {
		reads[i] = pipe.Get(ctx, key)
	}
	for _, key := range keys {
		pipe.Del(ctx, key) // one key each, because the others may be on another server
	}
	rediskit.Exec(ctx, pipe)
	if err := written.Err(); err != nil {
		return false, err
	}
	for _, read := range reads {
		if err := read.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return false, err
		} else if read.Val() != value {
			return false, nil
		}
	}
	return true, nil
}
