package redislock

import (
	"fmt"
	"time"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// WithPollers makes room for clients of other libraries that wait for a key by polling it
// every interval. Among themselves, the users of this package pass a key on: while there is
// always one that waits, the key is never free, and a client that polls never gets it.
//
// With this option, after a second, or after ten intervals if that is longer, a release leaves
// the key free for a quarter longer than the interval, and 10 ms. In this time no Backend with
// the option takes the key: an attempt that does not wait is refused, waiters keep their
// places, and the first of them gets the key afterwards. While another library has the key,
// the first waiter looks at it every interval. A key that was held for a second is left free in
// the same way, even if no request waits for it. After that time no reader and no holder of a
// permit joins the present ones, until they have left, or until their KeyTimeout has passed
// once: if some of them hold the key for long, others wait for as long.
//
// All processes that use a key should have the option with the same interval. A process
// without it works as before, and may take the key in the time that is meant for others. Keys
// that no request waits for, and that are held for less than a hundredth of the interval, cost
// nothing more. The default is to make no room. WithPollers panics if the interval is less
// than a millisecond or more than a minute.
func WithPollers(interval time.Duration) Option {
	rediskit.CheckDuration("redislock", "WithPollers", interval)
	if interval > time.Minute { // a stretch must be shorter than tombstoneTTL
		panic(fmt.Sprintf("redislock: WithPollers: %v is more than a minute", interval))
	}
	return func(o *options) { o.pollers = interval }
}

// WithReleaseMessage has every release and [Backend.ForceRelease] that leaves a key free
// publish a message, for clients of other libraries that wait for one. f returns the channel
// and the message for a key; without a channel, nothing is published. For Spring Integration's
// RedisLockRegistry in the mode PUB_SUB_LOCK, with the registry key "orders":
//
//	redislock.WithReleaseMessage(func(key string) (channel, message string) {
//		return "orders-channel:" + key, key // a key such as "orders:42"
//	})
//
// No message is sent when the key passes to a waiter of this package, and none when a lease
// expires. Clients that wait beside waiters of this package also need [WithPollers]. The user
// of Redis must be allowed to publish there; otherwise there is no message. f must be safe for
// concurrent use. WithReleaseMessage panics if f is nil.
func WithReleaseMessage(f func(key string) (channel, message string)) Option {
	if f == nil {
		panic("redislock: WithReleaseMessage: nil function")
	}
	return func(o *options) { o.message = f }
}

// announcement is a message for another library. It is sent if the channel is not empty.
type announcement struct{ channel, message string }

// announcement returns what is sent when the key becomes free; nil if the fleet is not mixed.
func (o *options) announcement(key string) *announcement {
	switch {
	case o.message != nil:
		channel, message := o.message(key)
		return &announcement{channel, message}
	case o.mixed():
		return noAnnouncement
	default:
		return nil
	}
}

var noAnnouncement = new(announcement)
