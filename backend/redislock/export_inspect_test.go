package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// RunForce runs the script of ForceRelease; the owner of each op is the name of the
// call.
func RunForce(ctx context.Context, c redis.UniversalClient, inbox string, claim time.Duration, prefix string, ops ...ScriptOp) ([]string, error) {
	return Caller{Client: c, Inbox: inbox, Prefix: prefix, Claim: claim}.Run(ctx, forceReleaseScript, ops...)
}
