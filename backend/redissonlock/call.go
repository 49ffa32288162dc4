package redissonlock

import (
	"context"
	"embed"
	"errors"
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

// call runs op on another goroutine, for at most the operation timeout. op is abandoned
// if it is late: it must use the context that it gets, and must not share anything with
// its caller that one of them writes to.
func call[T any](ctx context.Context, b *backend, op func(context.Context) (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	type answer struct {
		value T
		err   error
	}
	limited, cancel := context.WithTimeout(ctx, b.limit)
	defer cancel()
	diagnosis := time.AfterFunc(b.limit/2, func() { b.server.Ask(b.limit / 4) })
	defer diagnosis.Stop()
	answers := make(chan answer, 1)
	rediskit.Call(limited, b.background, op, func(v T, err error) { answers <- answer{v, err} })
	a := <-answers
	b.server.Leave(b.taking.Client(), "", a.err)
	return a.value, b.explain(ctx, a.err)
}

// explain returns the error of an operation for the caller with ctx, with the server and the
// reason.
func (b *backend) explain(ctx context.Context, err error) error {
	switch {
	case rediskit.Unexplained(err):
		b.server.Ask(b.limit / 4)
		return b.server.NoAnswer(err, b.limit)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		rediskit.Reload(b.client)
	}
	return b.server.ForCaller(ctx, err, b.limit)
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
	return call(ctx, b, func(ctx context.Context) (result, error) {
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
