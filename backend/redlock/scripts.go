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
	//go:embed bootstrap.lua
	bootstrapSource string
)

var (
	acquireScript   = redis.NewScript(libSource + acquireSource)
	mintScript      = redis.NewScript(libSource + mintSource)
	releaseScript   = redis.NewScript(libSource + releaseSource)
	renewScript     = redis.NewScript(renewSource)
	restoreScript   = redis.NewScript(libSource + restoreSource)
	bootstrapScript = redis.NewScript(bootstrapSource)
)

// batch is how many locks one script handles at most: the server does nothing else while
// a script runs.
const batch = 256

// markerKey says since when the data of a node is complete.
const markerKey = "distlock:redlock:memory"

// What release.lua and renew.lua return for a lock.
const (
	foundOther  = 0
	foundMine   = 1
	foundNobody = 2
)

func tokenKey(key string) string { return "{" + key + "}:token" }

// tombstoneKey returns the key of the tombstone of one generation of an owner, or of all.
// A node refuses what has a tombstone there.
func tombstoneKey(key, owner string, generation int) string {
	if generation == anyGeneration {
		return "{" + key + "}:gone:" + owner
	}
	return "{" + key + "}:gone:" + owner + "#" + strconv.Itoa(generation)
}

// value returns the record of an owner.
func value(owner string, generation int) string {
	if generation == 0 {
		return owner // as other libraries write it
	}
	return owner + " " + strconv.Itoa(generation)
}

// nodeTTL returns the time to live on a node of a lease of ttl: 1 % and 2 ms more, for
// nodes with a fast clock. So a holder can rely on all of ttl.
func nodeTTL(ttl time.Duration) time.Duration {
	return ttl + (ttl+99)/100 + 2*time.Millisecond
}

// millis returns d in milliseconds, rounded up.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// run runs a script that returns n integers.
func run(ctx context.Context, c redis.UniversalClient, s *redis.Script, n int, keys []string, args []any) ([]int64, error) {
	reply, err := s.Run(ctx, c, keys, args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) != n {
		return nil, fmt.Errorf("a script returned %d numbers instead of %d", len(reply), n)
	}
	return reply, nil
}
