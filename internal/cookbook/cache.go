package cookbook

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// Entry is a value in the cache.
type Entry struct {
	Value  string
	Loaded time.Time
}

// Cache is shared by all processes. It keeps entries longer than they are fresh.
type Cache interface {
	Get(ctx context.Context, key string) (e Entry, found bool, err error)
	Set(ctx context.Context, key string, e Entry) error
}

// fresh is how long a value is served without loading it again.
const fresh = time.Minute

// Catalog reads values through the cache.
type Catalog struct {
	Locker *distlock.Locker
	Cache  Cache
	Load   func(ctx context.Context, key string) (string, error) // slow
}

// Get returns a value. For each key, one caller in all processes loads it.
func (c *Catalog) Get(ctx context.Context, key string) (string, error) {
	old, found, err := c.Cache.Get(ctx, key)
	if err != nil || found && time.Since(old.Loaded) < fresh {
		return old.Value, err
	}
	opts := distlock.Opts{Value: "load", MaxWait: 3 * time.Second}
	if found {
		opts.RetryCount = 1 // another caller loads it: do not wait, serve the old value
	}
	value, err := distlock.Call(ctx, c.Locker, distlock.Key("load", key), opts, func(ctx context.Context) (string, error) {
		e, found, err := c.Cache.Get(ctx, key) // again: another caller may have loaded it meanwhile
		if err != nil || found && time.Since(e.Loaded) < fresh {
			return e.Value, err
		}
		return c.load(ctx, key)
	})
	switch {
	case err != nil && found:
		return old.Value, nil
	case !distlock.Ran(err) && distlock.CodeOf(err) == distlock.CodeUnavailable:
		return c.load(ctx, key) // the lock only saves work
	default:
		return value, err
	}
}

func (c *Catalog) load(ctx context.Context, key string) (string, error) {
	value, err := c.Load(ctx, key)
	if err != nil {
		return "", err
	}
	return value, c.Cache.Set(ctx, key, Entry{value, time.Now()})
}
