package redislock

import (
	"bufio"
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkEviction logs a warning if the server may evict locks: the policies volatile-lru and
// the like select keys that expire, as every lock does. It runs in the background. It
// ignores errors, because many users may not call INFO.
func (b *Backend) checkEviction() {
	b.background.Run(func(ctx context.Context) {
		info, err := call(ctx, b.calls, func(ctx context.Context, c redis.UniversalClient) (string, error) {
			return c.Info(ctx, "memory").Result()
		})
		if err != nil {
			return
		}
		if policy, ok := evicts(info); ok {
			b.opts.logger.WarnContext(ctx,
				"redislock: this Redis may evict locks when its memory is full, and two holders are then possible; set maxmemory-policy to noeviction",
				"maxmemory_policy", policy)
		}
	})
}

// evicts returns the eviction policy in the text of INFO, and whether that policy can evict
// a lock.
func evicts(info string) (policy string, ok bool) {
	limited := false
	for s := bufio.NewScanner(strings.NewReader(info)); s.Scan(); {
		name, value, _ := strings.Cut(strings.TrimSpace(s.Text()), ":")
		switch name {
		case "maxmemory":
			limited = value != "0"
		case "maxmemory_policy":
			policy = value
		}
	}
	return policy, limited && policy != "" && policy != "noeviction"
}
