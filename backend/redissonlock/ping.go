package redissonlock

import (
	"context"
	"log/slog"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Ping releases a key that is not held, with the script and over the connections of a
// release: that fails if the server does not answer this user or takes no writes. In a
// Cluster it first asks all masters whether they answer. A user that may not access the
// key distlock:ping is not refused for that. Ping takes at most twice the operation
// timeout. If several servers fail, it returns one of the errors.
func (b *backend) Ping(ctx context.Context) error {
	if b.cluster != nil {
		_, err := call(ctx, b, func(ctx context.Context) (struct{}, error) {
			return struct{}{}, b.cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
				return master.Ping(ctx).Err()
			})
		})
		if err != nil && !redis.HasErrorPrefix(err, "NOPERM") { // it answers
			return err
		}
	}
	b.checkEviction()
	k := keysOf("distlock:ping")
	lock, readWrite := channels(k.lock)
	_, err := b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone}, uuid.NewString(), rediskit.Flag(false), b.publish, lock, readWrite)
	if redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "access") { // the key, not a command
		return nil
	}
	return err
}

// checkEviction logs a warning, once, if the server may evict locks.
func (b *backend) checkEviction() {
	b.server.CheckEviction(slog.Default(), b.taking.Client(), b.limit)
}
