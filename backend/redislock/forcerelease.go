package redislock

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// ForceRelease deletes the key and grants it to the head of the queue. It is one
// script, which is idempotent. If the value at the key is not a lock of this package
// and does not look like one, ForceRelease changes nothing, and the error wraps
// [driver.ErrForeign]. Such a value is a string that does not expire, a string that is
// neither a UUID nor an owner with a token, or a value of another type.
func (b *backend) ForceRelease(ctx context.Context, key string) (bool, error) {
	if err := b.checkKey(key); err != nil {
		return false, err
	}
	a := b.dispatcher.do(ctx, &request{
		script: forceReleaseScript, key: key, owner: uuid.NewString(), inDoubt: rediskit.Flag(false),
	})
	switch {
	case isLine(a.Err, "NOLOCK"):
		return false, foreign(value{kind: "string"})
	case redis.HasErrorPrefix(a.Err, "WRONGTYPE"):
		return false, b.wrongType(ctx, key, a.Err)
	case a.Err != nil:
		return false, a.Err
	case a.Value.line == replyHeld:
		return true, nil
	case a.Value.line == replyNotHeld:
		return false, nil
	default:
		return false, fmt.Errorf("redislock: force answered %q", a.Value.line)
	}
}
