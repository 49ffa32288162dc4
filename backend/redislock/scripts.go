package redislock

import (
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lib.lua
	libSource string
	//go:embed shared.lua
	sharedSource string
	//go:embed grant_next.lua
	grantNextSource string
	//go:embed mint.lua
	mintSource string
	//go:embed acquire.lua
	acquireSource string
	//go:embed acquire_rest.lua
	acquireRestSource string
	//go:embed release.lua
	releaseSource string
	//go:embed release_rest.lua
	releaseRestSource string
	//go:embed preamble.lua
	preambleSource string
	//go:embed share.lua
	shareSource string
	//go:embed unshare.lua
	unshareSource string
	//go:embed renew.lua
	renewSource string
	//go:embed renew_shared.lua
	renewSharedSource string
)

// The frequent case comes first in acquire.lua and release.lua. It returns before the
// server has defined the functions that the other cases need.
var (
	commonSource  = libSource + sharedSource + grantNextSource
	acquireScript = newScript(acquireSource + commonSource + mintSource + acquireRestSource)
	releaseScript = newScript(releaseSource + commonSource + releaseRestSource)
	shareScript   = newScript(preambleSource + commonSource + mintSource + shareSource)
	unshareScript = newScript(preambleSource + commonSource + unshareSource)

	renewScript       = redis.NewScript(renewSource)
	renewSharedScript = redis.NewScript(renewSharedSource)
)

// script is a script for many locks at once. Its reply has a line for each lock.
type script struct {
	source, sha string
}

func newScript(source string) *script {
	return &script{source: source, sha: redis.NewScript(source).Hash()}
}

// lockKeys returns the three keys of a lock: the lock itself, its fence and its queue. They
// are in one hash slot, and every script call declares all of them.
func lockKeys(key string) [3]string {
	const fence, queue = ":fence", ":queue"
	both := "{" + key + "}" + fence + "{" + key + "}" + queue // one allocation
	n := len(both) / 2
	return [3]string{key, both[:n], both[n:]}
}

// integers returns a reply that must be n integers.
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
