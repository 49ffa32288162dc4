package redlock

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lib.lua
	libSource string
	//go:embed acquire.lua
	acquireSource string
	//go:embed mint.lua
	mintSource string
	//go:embed release.lua
	releaseSource string
	//go:embed renew.lua
	renewSource string
	//go:embed restore.lua
	restoreSource string
	//go:embed bless.lua
	blessSource string
)

var (
	acquireScript = redis.NewScript(libSource + acquireSource)
	mintScript    = redis.NewScript(libSource + mintSource)
	releaseScript = redis.NewScript(libSource + releaseSource)
	renewScript   = redis.NewScript(renewSource)
	restoreScript = redis.NewScript(libSource + restoreSource)
	blessScript   = redis.NewScript(blessSource)
)

// batch is how many locks share a script at most: a script stops the server
// while it runs.
const batch = 256

// markerKey says since when a node has forgotten nothing.
const markerKey = "distlock:redlock:memory"

// What release.lua and renew.lua say of a lock.
const (
	foundOther  = 0
	foundMine   = 1
	foundNobody = 2
)

func tokenKey(key string) string { return "{" + key + "}:token" }

// graveKey is where an owner is buried, or one attempt of it.
func graveKey(key, owner string, generation int) string {
	if generation == everything {
		return "{" + key + "}:gone:" + owner
	}
	return "{" + key + "}:gone:" + owner + "#" + strconv.Itoa(generation)
}

// value is the record that an attempt writes.
func value(owner string, generation int) string {
	if generation == 0 {
		return owner // what other kits write
	}
	return owner + " " + strconv.Itoa(generation)
}

// onNode is the time to live of a lease of ttl on a node: 1 % and 2 ms more, for
// clocks of nodes that run fast. So the whole of ttl may be counted on.
func onNode(ttl time.Duration) time.Duration {
	return ttl + (ttl+99)/100 + 2*time.Millisecond
}

// millis is d in milliseconds, rounded up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// flag is a boolean for scripts.
func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// run runs a script that answers with n integers.
func run(ctx context.Context, c redis.UniversalClient, s *redis.Script, n int, keys []string, args []any) ([]int64, error) {
	reply, err := s.Run(ctx, c, keys, args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) != n {
		return nil, fmt.Errorf("a script answered %d numbers instead of %d", len(reply), n)
	}
	return reply, nil
}
