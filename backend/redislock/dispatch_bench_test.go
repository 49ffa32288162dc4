package redislock_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/redislock/internal/dispatch"
)

// BenchmarkDispatch compares the dispatcher, with the least script for a lock that can be
// sent for many locks at once, with a bare lock. The ratio counts.
func BenchmarkDispatch(b *testing.B) {
	for _, goroutines := range []int{1, 8, 64, 1000} {
		b.Run(strconv.Itoa(goroutines), func(b *testing.B) {
			s := realServer(b)
			bare := bareLock(s.Client)
			batched := batchedLock(s.Client)
			b.Run("bare", func(b *testing.B) { onOwnKeys(b, goroutines, bare) })
			b.Run("dispatch", func(b *testing.B) { onOwnKeys(b, goroutines, batched) })
		})
	}
}

// ownedKey is a request to take a key for the owner, or to give it back.
type ownedKey struct {
	key, owner string
	release    bool
}

var ownedKeys = redis.NewScript(`
local done = {}
for i, key in ipairs(KEYS) do
	local owner = ARGV[2*i-1]
	if ARGV[2*i] == '0' then
		done[i] = redis.call('SET', key, owner, 'NX', 'PX', 10000) and 1 or 0
	elseif redis.call('GET', key) == owner then
		done[i] = redis.call('DEL', key)
	else
		done[i] = 0
	end
end
return done`)

func batchedLock(c *redis.Client) func(ctx context.Context, key string) error {
	short := c.WithTimeout(dispatch.InlineTimeout)
	d := dispatch.New(dispatch.Config[*ownedKey, int64]{
		CanInline: true,
		Timeout:   time.Second,
		Run:       func(f func()) { go f() },
		Slow:      func() {},
		NoAnswer:  func() error { return context.DeadlineExceeded },
		Send: func(ctx context.Context, inline bool, reqs []*ownedKey) []dispatch.Result[int64] {
			client := c
			if inline {
				client = short
			}
			keys, args := make([]string, len(reqs)), make([]any, 0, 2*len(reqs))
			for i, r := range reqs {
				keys[i] = r.key
				args = append(args, r.owner, r.release)
			}
			sent := time.Now()
			done, err := ownedKeys.Run(ctx, client, keys, args...).Int64Slice()
			results := make([]dispatch.Result[int64], len(reqs))
			for i := range results {
				if err != nil {
					results[i].Err = err
					continue
				}
				results[i] = dispatch.Result[int64]{Value: done[i], Sent: sent, OutcomeKnown: true}
			}
			return results
		},
	})
	return func(ctx context.Context, key string) error {
		r := ownedKey{key: key, owner: uuid.NewString()}
		if a := d.Do(ctx, &r, true); a.Err != nil {
			return a.Err
		}
		r2 := ownedKey{key: key, owner: r.owner, release: true}
		return d.Do(ctx, &r2, true).Err
	}
}
