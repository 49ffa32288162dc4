package redislock

import (
	"embed"
	"time"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

//go:embed lua
var luaFiles embed.FS

// The frequent cases come early in the scripts acquire and release: they return before
// the server has defined the functions that only the other cases need.
var (
	acquireScript      = load("acquire")
	releaseScript      = load("release")
	undoPlainScript    = load("undo_plain")
	forceReleaseScript = load("force_release")
	renewScript        = load("renew")
	inspectScript      = load("inspect")
	writeAllScript     = load("write_all")
)

// queueTTL is how long a queue is kept after the last attempt of its last waiter. A
// waiter makes an attempt at least three times within it.
const queueTTL = time.Minute

func load(name string) *luascript.Script {
	return luascript.Load(luaFiles, "lua/"+name+".lua", luascript.Constants{
		"QUEUE_TTL": queueTTL.Milliseconds(), "TOMBSTONE_TTL": doubt.TombstoneTTL.Milliseconds(),
	})
}

// The ends of the names of a queue and of tombstones: see [rediskit.Companion].
const (
	queueSuffix = ":queue"
	goneSuffix  = ":gone"
)

// lockKeys returns the keys of a lock: the lock itself, its queue and its tombstones.
// They are in one hash slot, and every script call declares all of them.
func lockKeys(key string) *[3]string {
	return &[3]string{key, rediskit.Companion(key, queueSuffix), rediskit.Companion(key, goneSuffix)}
}
