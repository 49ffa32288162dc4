package redislock

import (
	"bufio"
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// checkEviction warns if the server may throw locks away: volatile-lru and its
// kin pick from the keys that expire, and every lock does. It looks in the
// background, once, and gives up silently: many users may not call INFO.
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

// evicts reads an INFO text. It reports the eviction policy, and whether that
// can ever hit a lock.
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
