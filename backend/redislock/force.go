package redislock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

var (
	//go:embed force.lua
	forceSource string

	forceScript = newScript(sharingSource + commonSource + oursSource + forceSource)
)

// ForceRelease deletes the key, moves its fence on and passes the key on to the
// head of the queue, in one script, which may be repeated. It fails, and does
// nothing, if the value at the key is not a lock of this package and does not look like
// one: a string that does not expire, a string that is neither a UUID nor the value in
// the fence, or a value of another type. The error wraps [driver.ErrForeign] then.
func (b *Backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if key == "" {
		return false, errors.New("redislock: the key is empty")
	}
	o := b.fleet.ops.get()
	o.script, o.keys, o.owner, o.doubt, o.repeatable = forceScript, lockKeys(key), uuid.NewString(), flag(false), true
	a := b.fleet.do(ctx, o)
	switch {
	case isLine(a.err, "NOLOCK"):
		return false, foreign(value{kind: "string"})
	case redis.HasErrorPrefix(a.err, "WRONGTYPE"):
		_, err := b.wrongType(ctx, key, a.err)
		return false, err
	case a.err != nil:
		return false, a.err
	case a.line == foundMine:
		return true, nil
	case a.line == foundNobody:
		return false, nil
	default:
		return false, fmt.Errorf("redislock: force answered %q", a.line)
	}
}
