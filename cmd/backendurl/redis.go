package backendurl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/backend/redissonlock"
	"github.com/distlock-go/distlock/driver"
)

func connectRedis(_ context.Context, u *hostURL) (*Backend, error) {
	opts, clock, redisson, err := parseRedis(u)
	if err != nil {
		return nil, invalid(err)
	}
	client := newRedis(opts)
	b := &Backend{
		Backend: redislock.New(client, redislock.Config{Clock: clock}), Client: client, TLS: opts.TLSConfig != nil,
		reach: func(ctx context.Context) error { return reachRedis(ctx, client, clock) }, end: client.Close,
	}
	if redisson {
		b.Backend = redissonlock.New(client, redissonlock.Config{})
	}
	return b, nil
}

// Parameters that go-redis does not know.
const (
	recordParameter = "record" // asks for locks that are shared with Redisson
	clockParameter  = "clock"  // the key of redislock.Config.Clock
)

func parseRedis(u *hostURL) (opts *redis.Options, clock string, redisson bool, err error) {
	if keys := u.query[clockParameter]; len(keys) == 1 && keys[0] != "" && !strings.ContainsAny(keys[0], "{}") {
		clock = keys[0]
		u.query.Del(clockParameter)
	}
	if redisson = slices.Equal(u.query[recordParameter], []string{"redisson"}); redisson {
		u.query.Del(recordParameter)
	}
	opts, err = redis.ParseURL(u.String())
	switch {
	case err != nil:
		return nil, "", false, printable(err)
	case opts.DB < 0:
		return nil, "", false, fmt.Errorf("the database number is negative: %d", opts.DB)
	}
	return opts, clock, redisson, nil
}

// newRedis returns a client with other defaults than go-redis has. The stores have connections
// of their own to a server; to take a lock of Redisson, as many as the client may have. What
// goes through the client itself ends with its context, and uses no connection that a network
// may have forgotten.
func newRedis(opts *redis.Options) *redis.Client {
	quieten()
	opts.PoolSize = cmp.Or(opts.PoolSize, max(64, 10*runtime.GOMAXPROCS(0)))
	opts.ConnMaxIdleTime = cmp.Or(opts.ConnMaxIdleTime, idleTime)
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts)
}

// reachRedis pings the server. A replica is enough, because it can be inspected.
func reachRedis(ctx context.Context, client *redis.Client, clock string) error {
	b := redislock.New(client, redislock.Config{Clock: clock, OpTimeout: ReachTimeout})
	err := b.(driver.Pinger).Ping(ctx) //nolint:forcetypeassert // its documentation says so
	if redis.HasErrorPrefix(err, "READONLY") {
		err = nil
	}
	_ = b.(io.Closer).Close() //nolint:forcetypeassert // the client stays open
	return err
}

// quieten turns off the logger that go-redis has for all clients, which writes to stderr. The
// command that opens the backend reports its own errors.
var quieten = sync.OnceFunc(logging.Disable)
