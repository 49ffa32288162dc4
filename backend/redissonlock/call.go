package redissonlock

import (
	"context"
	"embed"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
	"github.com/distlock-go/distlock/internal/clock"
)

const (
	// maxRepeats is how often a script is sent again because its connection broke: the
	// connections of a pool break together.
	maxRepeats = 4

	// redirectPause is the pause before a script is sent again that a Cluster has
	// refused for the moment.
	redirectPause = 20 * time.Millisecond
)

// call runs op over the connections that are not for renewals and releases alone.
func call[T any](ctx context.Context, b *backend, op func(context.Context, redis.UniversalClient) (T, error)) (T, error) {
	return rediskit.Operate(ctx, b.server, b.taking.Client(), op)
}

// result is what became of a script. The zero value claims nothing.
type result struct {
	value any
	sent  time.Time // before the copy was sent that was answered
	known bool      // each copy was answered or was never sent
}

// run runs a script. It sends the script again if the connection broke, which is
// harmless for the same owner, or if a Cluster has refused it for the moment.
func (b *backend) run(ctx context.Context, client redis.UniversalClient, s *luascript.Script, keys []string, args ...any) (result, error) {
	if err := ctx.Err(); err != nil {
		return result{known: true}, err
	}
	return rediskit.Operate(ctx, b.server, client, func(ctx context.Context, client redis.UniversalClient) (result, error) {
		r := result{known: true}
		for repeats := 0; ; repeats++ {
			r.sent = time.Now()
			var err error
			r.value, err = s.Run(ctx, client, keys, args...).Result()
			r.known = r.known && rediskit.FateOf(err) != rediskit.Unknown
			switch {
			case b.cluster != nil && rediskit.Redirected(err) && clock.Sleep(ctx, redirectPause):
			case rediskit.Broken(err) && repeats < maxRepeats && ctx.Err() == nil:
			default:
				b.server.Leave(client, keys[0], err)
				return r, err
			}
		}
	})
}

// numbers returns the numbers at the beginning of an array that a script returned, and
// the rest.
func (r result) numbers() (numbers []int64, rest []any) {
	parts, _ := r.value.([]any)
	return rediskit.Numbers(parts)
}

//go:embed lua
var luaFiles embed.FS

var (
	acquireScript      = load("acquire")
	releaseScript      = load("release")
	renewScript        = load("renew")
	forceReleaseScript = load("force_release")
	inspectScript      = load("inspect")
)

// maxToken is the largest token in a counter that is believed. From 2^53 on,
// neighbouring integers are the same number of Lua.
const maxToken int64 = 1<<53 - 1<<20

func load(name string) *luascript.Script {
	return luascript.Load(luaFiles, "lua/"+name+".lua", luascript.Constants{
		"GO_SUFFIX": goSuffix, "MAX_TOKEN": maxToken, "TOMBSTONE_TTL": doubt.TombstoneTTL.Milliseconds(),
	})
}
