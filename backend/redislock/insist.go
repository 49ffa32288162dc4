package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	firstInsist = 5 * time.Millisecond // grows to
	lastInsist  = 50 * time.Millisecond
)

// refused reports whether a Cluster has done nothing, because it cannot at the
// moment: the slot is moving, and some of the keys are here and some there; or it
// has moved, and two servers name each other until both know it; or it has no
// master. In a pipeline go-redis does not try again, and for a command alone not
// long enough.
func refused(err error) bool {
	for _, prefix := range []string{"TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN"} {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}

// insist carries out what was refused with a, again and again until it is not, or
// until the limit of one operation has passed. It waits on its caller's goroutine:
// others have the lane meanwhile.
func (f *fleet) insist(ctx context.Context, what *op, a answer) answer {
	trying, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	for pause := firstInsist; refused(a.err); pause = min(2*pause, lastInsist) {
		if sleep(trying, nil, pause) != nil {
			break
		}
		o := f.ops.get()
		events := o.events
		*o = *what
		o.events = events
		next := f.lane(trying, o.keys[0]).do(trying, o)
		if trying.Err() != nil && next.err == trying.Err() { //nolint:errorlint // as it is
			a.sure = next.sure
			break
		}
		a = next
	}
	if ctx.Err() != nil && refused(a.err) {
		a.err = ctx.Err()
	}
	// The refusal may have been the answer to a second sending by the client.
	a.sure = a.sure && what.how == ""
	return a
}
