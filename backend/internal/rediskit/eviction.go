package rediskit

import (
	"context"
	"log/slog"
	"strings"
)

// WarnOfEviction logs a warning if the server may evict locks: the policies volatile-lru and
// the like select keys that expire, as every lock does. info is the text of INFO. The warning
// names the package pkg.
func WarnOfEviction(ctx context.Context, logger *slog.Logger, pkg, info string) {
	if policy, ok := evicts(info); ok {
		logger.WarnContext(ctx,
			pkg+": this Redis may evict locks when its memory is full, and two holders are then possible; set maxmemory-policy to noeviction",
			"maxmemory_policy", policy)
	}
}

// evicts returns the eviction policy in the text of INFO, and whether that policy can evict
// a lock.
func evicts(info string) (policy string, ok bool) {
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
