package redislock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

var _ driver.AllAcquirer = (*Backend)(nil)

// errNotOneScript is the error of TryAcquireAll if one script cannot take all keys.
var errNotOneScript = fmt.Errorf("redislock: the keys are not all on one server for certain, or replicas have to confirm each: %w", errors.ErrUnsupported)

// TryAcquireAll takes all keys or none with one script, in one round trip. It fails
// with [errors.ErrUnsupported] if that is not possible: in a Cluster, where a script may
// use keys of one slot only; with [WithWaitReplicas]; and for locks that are not exclusive.
func (b *Backend) TryAcquireAll(ctx context.Context, rs []driver.Request) ([]driver.Grant, error) {
	if !b.topology.multiKey() || b.opts.replicas.n > 0 {
		return nil, errNotOneScript
	}
	n := len(rs)
	keys := make([]string, 1+3*n)
	keys[3*n] = b.topology.clockFor(rs[0].Key)
	args := make([]any, 1, 1+n)
	args[0] = rs[0].TTL.Milliseconds()
	for i := range rs {
		r := &rs[i]
		if err := checkRequest(*r); err != nil {
			return nil, err
		}
		if share(r.Mode, r.Permits) != "" || r.TTL != rs[0].TTL {
			return nil, errNotOneScript
		}
		for k, name := range lockKeys(r.Key) {
			keys[k*n+i] = name
		}
		args = append(args, r.Owner)
	}
	if b.opts.mixed() {
		args = append(args, b.opts.pollers.Milliseconds())
	}
	b.evictionOnce.Do(b.checkEviction)

	sent := time.Now()
	line, err := call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) (string, error) {
		return b.scripts.acquireAll.Run(ctx, c, keys, args...).Text()
	})
	if redis.HasErrorPrefix(err, "CROSSSLOT") {
		b.topology.foundSlots()
		return nil, errNotOneScript
	}
	if i, ok := strings.CutPrefix(line, "-FOREIGN "); ok {
		return nil, b.foreignAt(ctx, rs, i)
	}
	if err == nil {
		var grants []driver.Grant
		if grants, err = parseAll(line, rs, sent); err == nil || errors.Is(err, driver.ErrNotAcquired) || rediskit.Answered(err) {
			return grants, err
		}
	}
	for i := range rs {
		b.inDoubt.Add(rs[i].Owner, rediskit.AttemptInDoubt)
	}
	return nil, err
}

// foreignAt returns the error if the key of one request has a value of another type. The
// number of the request is counted from one.
func (b *Backend) foreignAt(ctx context.Context, rs []driver.Request, number string) error {
	i, err := strconv.Atoi(number)
	if err != nil || i < 1 || i > len(rs) {
		return fmt.Errorf("redislock: acquire all answered FOREIGN %q", number)
	}
	key := rs[i-1].Key
	v, _ := b.valueAt(ctx, key) // if this fails, it is still known to be foreign
	return fmt.Errorf("%w, at %q", foreign(v), key)
}

// parseAll parses the reply of acquire_all.lua.
func parseAll(line string, rs []driver.Request, sent time.Time) ([]driver.Grant, error) {
	if text, ok := strings.CutPrefix(line, "-"); ok {
		return nil, replyError(text)
	}
	switch status, rest, _ := strings.Cut(line, " "); status {
	case "0":
		if held, _ := parseRefusal(rest); held != nil {
			return nil, held
		}
	case "1":
		grants := make([]driver.Grant, len(rs))
		for i := range rs {
			g, ok := granted(rs[i], rest)
			if !ok {
				return nil, fmt.Errorf("redislock: the tokens %q are not numbers", rest)
			}
			g.Sent = sent
			grants[i] = g
		}
		return grants, nil
	}
	return nil, fmt.Errorf("redislock: acquire all answered %q", line)
}
