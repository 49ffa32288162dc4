package redislock

import (
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lib.lua
	libSource string
	//go:embed acquire.lua
	acquireSource string
	//go:embed release.lua
	releaseSource string
	//go:embed renew.lua
	renewSource string
)

var (
	acquireScript = redis.NewScript(libSource + acquireSource)
	releaseScript = redis.NewScript(libSource + releaseSource)
	renewScript   = redis.NewScript(renewSource)
)

// lockKeys returns the keys of one lock, all in one hash slot: the lock itself,
// its fence, its queue. Scripts declare them all.
func lockKeys(key string) []string {
	const fence, queue = ":fence", ":queue"
	both := "{" + key + "}" + fence + "{" + key + "}" + queue // one allocation
	n := len(both) / 2
	return []string{key, both[:n], both[n:]}
}

// flag is a boolean for scripts. It allocates nothing.
func flag(b bool) any {
	if b {
		return "1"
	}
	return "0"
}

// integers reads a reply that must be n integers.
func integers(cmd *redis.Cmd, n int) ([]int64, error) {
	reply, err := cmd.Int64Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) != n {
		return nil, fmt.Errorf("redislock: a script answered %d numbers instead of %d", len(reply), n)
	}
	return reply, nil
}
