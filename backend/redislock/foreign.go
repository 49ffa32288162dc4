package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/driver"
)

// value describes the value at a key.
type value struct {
	kind string        // as Redis calls it, such as "hash"; "none"; or "" if not known
	left time.Duration // 0 if it does not expire
}

// String returns the kind with its article.
func (v value) String() string {
	switch v.kind {
	case "":
		return "a value of another type"
	case "zset":
		return "a sorted set"
	default:
		return "a " + v.kind
	}
}

// valueAt asks Redis for the type and the expiry of a key.
func (b *backend) valueAt(ctx context.Context, key string) (value, error) {
	return call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) (value, error) {
		pipe := c.Pipeline()
		kind, left := pipe.Type(ctx, key), pipe.PTTL(ctx, key)
		rediskit.Exec(ctx, pipe)
		if err := left.Err(); err != nil {
			return value{}, err
		}
		if left.Val() == -2 {
			return value{kind: "none"}, nil
		}
		return value{kind.Val(), max(left.Val(), 0)}, nil // the kind is empty if the user may not ask for it
	})
}

// wrongType explains a WRONGTYPE error of a script: the returned error says which of
// the three keys has a value of another type. This costs further round trips, but the
// scripts need no check. If it is the key of the lock itself, the value is a lock of
// another kind.
func (b *backend) wrongType(ctx context.Context, key string, found error) error {
	names := lockKeys(key)
	at := make([]value, len(names))
	for i, name := range names {
		v, err := b.valueAt(ctx, name)
		if err != nil {
			return found
		}
		at[i] = v
		if i == 0 && v.kind != "string" && v.kind != "none" && (v.kind != "zset" || isLine(found, foreignSet)) {
			return foreign(v)
		}
	}
	switch {
	case at[1].kind != "zset" && at[1].kind != "none":
		return fmt.Errorf("%w: the queue %q is %v", found, names[1], at[1])
	case at[2].kind != "zset" && at[2].kind != "none":
		return fmt.Errorf("%w: the set of tombstones %q is %v", found, names[2], at[2])
	default: // it was removed in the meantime, or the error is not of one lock
		return found
	}
}

// foreignSet is the error of scripts for a sorted set that is not a shared lock.
const foreignSet = "WRONGTYPE the sorted set"

// foreign returns the error for a request whose key has a lock of another kind.
func foreign(v value) error {
	if v.left > 0 {
		return fmt.Errorf("redislock: %w: %v, %v left", driver.ErrForeign, v, v.left)
	}
	return fmt.Errorf("redislock: %w: %v", driver.ErrForeign, v)
}
