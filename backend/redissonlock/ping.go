package redissonlock

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock/backend/internal/rediskit"
)

// Ping asks every server that keeps keys: the single server, the master that Sentinel names, or
// all masters of a Cluster. One round trip shows that the server answers this user and, if the
// user may run INFO, that it is not a replica. Then Ping releases a key that is not held, with
// the script and over the connections of a release, which fails if the server or one of the
// Cluster takes no writes. A user that may not access the key distlock:ping is not refused
// for that. It takes at most twice the operation timeout. If several servers fail, it returns one of the errors.
func (b *Backend) Ping(ctx context.Context) error {
	_, err := call(ctx, b, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, b.eachMaster(ctx, rediskit.Ping)
	})
	if err != nil {
		return err
	}
	k := keysOf("distlock:ping")
	lock, readWrite := channels(k.lock)
	_, err = b.run(ctx, b.own.Client(), releaseScript, []string{k.lock, k.gone}, uuid.NewString(), rediskit.Flag(false), b.publish, lock, readWrite)
	if redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "access") { // the key, not a command
		return nil
	}
	return err
}

// eachMaster calls f for each server that keeps keys, at once.
func (b *Backend) eachMaster(ctx context.Context, f func(context.Context, redis.UniversalClient) error) error {
	if b.cluster == nil {
		return f(ctx, b.client)
	}
	return b.cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error { return f(ctx, master) })
}
