package redislock

import (
	"embed"
	"strings"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

//go:embed lua
var luaFiles embed.FS

// The frequent case comes first in the scripts acquire and release: it returns before the
// server has defined the functions that the other cases need.
var (
	acquireScript      = load("acquire")
	releaseScript      = load("release")
	releasePlainScript = load("release_plain")
	undoPlainScript    = load("undo_plain")
	forceReleaseScript = load("force_release")
	renewScript        = load("renew")
	inspectScript      = load("inspect")
)

func load(name string) *luascript.Script {
	return luascript.Load(luaFiles, "lua/"+name+".lua", luascript.Constants{
		"QUEUE_TTL": queueTTL.Milliseconds(), "TOMBSTONE_TTL": doubt.TombstoneTTL.Milliseconds(),
	})
}

// queueSuffix is in the name of a queue, behind the key in braces.
const queueSuffix = ":queue"

// lockKeys returns the keys of a lock: the lock itself, its queue and its tombstones. They
// are in one hash slot, and every script call declares all of them.
func lockKeys(key string) [3]string {
	const queue, gone = queueSuffix, ":gone"
	if strings.IndexByte(key, '{') >= 0 {
		return [3]string{key, rediskit.Companion(key, queue), rediskit.Companion(key, gone)}
	}
	both := "{" + key + "}" + queue + "{" + key + "}" + gone // one allocation
	n := len(key) + 2 + len(queue)
	return [3]string{key, both[:n], both[n:]}
}
