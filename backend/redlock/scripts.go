package redlock

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

//go:embed lua
var files embed.FS

// Two rules hold for all scripts. The first write decides: Redis undoes nothing, so a
// script that is refused must be refused before it has written. A number becomes text
// only by string.format('%.0f'): Redis makes "1.7890000001235e+15" of 1789000000123456
// when it is concatenated.
var (
	acquireScript   = load("acquire")
	mintScript      = load("mint")
	releaseScript   = load("release")
	renewScript     = load("renew")
	restoreScript   = load("restore")
	bootstrapScript = load("bootstrap")
)

func load(name string) *luascript.Script {
	return luascript.Load(files, "lua/"+name+".lua", luascript.Constants{
		"OTHER": foundOther, "MINE": foundMine, "NOBODY": foundNobody,
		"RETENTION": retention.Milliseconds(),
	})
}

// retention is how long a counter of tokens is kept after its last use.
const retention = 15 * time.Minute

// batch is how many locks one script handles at most: the server does nothing else
// while a script runs.
const batch = 256

// markerKey says since when the data of a node is complete.
const markerKey = "distlock:redlock:memory"

// What release.lua and renew.lua return for a lock.
const (
	foundOther  = 0
	foundMine   = 1
	foundNobody = 2
)

func tokenKey(key string) string { return rediskit.Companion(key, ":token") }

// tombstoneKey returns the key of the tombstone of one generation of an owner, or of
// all. A node refuses what has a tombstone there.
func tombstoneKey(key, owner string, generation int) string {
	if generation == anyGeneration {
		return rediskit.Companion(key, ":gone:"+owner)
	}
	return rediskit.Companion(key, ":gone:"+owner+"#"+strconv.Itoa(generation))
}

// value returns the record of an owner.
func value(owner string, generation int) string { return owner + " " + strconv.Itoa(generation) }

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
func run(ctx context.Context, c redis.UniversalClient, s *luascript.Script, n int, keys []string, args []any) ([]int64, error) {
	reply, err := s.Run(ctx, c, keys, args...).Int64Slice()
	if err != nil {
		return nil, err
	}
	if len(reply) != n {
		return nil, fmt.Errorf("a script returned %d numbers instead of %d", len(reply), n)
	}
	return reply, nil
}
