package redissonlock

import (
	"embed"

	"github.com/distlock-go/distlock/backend/internal/doubt"
	"github.com/distlock-go/distlock/backend/internal/luascript"
)

//go:embed lua
var luaFiles embed.FS

var (
	acquireScript      = load("acquire")
	releaseScript      = load("release")
	renewScript        = load("renew")
	forceReleaseScript = load("force_release")
	inspectScript      = load("inspect")
)

// maxToken is the largest token in a counter that is believed. From 2^53 on, neighbouring
// integers are the same number of Lua.
const maxToken int64 = 1<<53 - 1<<20

func load(name string) *luascript.Script {
	return luascript.Load(luaFiles, "lua/"+name+".lua", luascript.Constants{
		"GO_SUFFIX": goSuffix, "MAX_TOKEN": maxToken, "TOMBSTONE_TTL": doubt.TombstoneTTL.Milliseconds(),
	})
}
