package etcdlock

import (
	"context"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	*session

	backend  *backend
	queue    queue
	own      place // the ticket's; zero if it has none
	blockers queue // of that place
	revision int64 // at which the queue was read
}

// Watch implements [placequeue.Obstacle].
func (o *obstacle) Watch(ctx context.Context) <-chan error {
	fired := make(chan error, len(o.blockers))
	for _, p := range o.blockers {
		go func() {
			o.link.watch(clientv3.WithRequireLeader(ctx), p.path, o.revision)
			fired <- nil
		}()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. To read the whole queue costs more.
func (o *obstacle) Remains(ctx context.Context) bool {
	places := append(slices.Clip(o.blockers), o.own)
	if len(places) > maxOps {
		return false
	}
	exist, err := o.link.exist(ctx, places)
	return err == nil && !slices.Contains(exist, false)
}

// Err implements [placequeue.Obstacle].
func (o *obstacle) Err(context.Context, bool) error { return o.backend.heldError(o.queue) }
