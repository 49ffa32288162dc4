package rediskit

import (
	"context"
	"log/slog"
	"strings"

	"github.com/redis/go-redis/v9"
)

// CheckEviction logs a warning if the server may evict locks. It does so once, in the
// background. It ignores errors, because many users may not call INFO.
func (s *Server) CheckEviction(logger *slog.Logger, client redis.UniversalClient) {
	s.eviction.Do(func() {
		run(s.background, func() {
			ctx, cancel := context.WithTimeout(s.background, s.limit)
			defer cancel()
			if info, err := client.Info(ctx, "memory").Result(); err == nil {
				if policy, may := Evicts(info); may {
					logger.WarnContext(ctx, s.pkg+": this Redis may evict locks when its memory is full, and two holders are then possible; set maxmemory-policy to noeviction",
						"server", s.addr, "maxmemory_policy", policy)
				}
			}
		})
	})
}

// Evicts returns the eviction policy in the text of INFO, and whether that may evict a lock: the
// policies volatile-lru and the like select keys that expire, as every lock does.
func Evicts(info string) (policy string, may bool) {
	limited := false
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "maxmemory":
			limited = value != "0"
		case "maxmemory_policy":
			policy = value
		}
	}
	return policy, limited && policy != "" && policy != "noeviction"
}
