package redislock

import (
	_ "embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lib.lua
	libSource string
	//go:embed sharers.lua
	sharersSource string
	//go:embed pass.lua
	passSource string
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
	//go:embed sharing.lua
	sharingSource string
	//go:embed share.lua
	shareSource string
	//go:embed unshare.lua
	unshareSource string
	//go:embed renew.lua
	renewSource string
	//go:embed renew_shared.lua
	renewSharedSource string
)

// What most often happens comes first, and returns before the server has made
// the functions that the rest needs.
var (
	commonSource  = libSource + sharersSource + passSource
	acquireScript = newScript(acquireSource + commonSource + mintSource + acquireRestSource)
	releaseScript = newScript(releaseSource + commonSource + releaseRestSource)
	shareScript   = newScript(sharingSource + commonSource + mintSource + shareSource)
	unshareScript = newScript(sharingSource + commonSource + unshareSource)

	renewScript       = redis.NewScript(renewSource)
	renewSharedScript = redis.NewScript(renewSharedSource)
)

// script is run for many locks at once, and answers with a line for each.
type script struct {
	source, sha string
}

func newScript(source string) *script {
	return &script{source: source, sha: redis.NewScript(source).Hash()}
}

// lockKeys returns the keys of one lock, all in one hash slot: the lock itself,
// its fence, its queue. Scripts declare them all.
func lockKeys(key string) [3]string {
	const fence, queue = ":fence", ":queue"
	both := "{" + key + "}" + fence + "{" + key + "}" + queue // one allocation
	n := len(both) / 2
	return [3]string{key, both[:n], both[n:]}
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
