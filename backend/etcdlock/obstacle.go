package etcdlock

import (
	"context"
	"slices"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// watchPause is the wait after a watch that has failed.
const watchPause = 200 * time.Millisecond

// obstacle is why a ticket's owner does not get the key now.
type obstacle struct {
	*session

	queue    queue
	own      place // that of the ticket; zero if it has none
	blockers queue // of that place
	revision int64 // at which the queue was read
}

// Watch implements [placequeue.Obstacle].
func (o *obstacle) Watch(ctx context.Context) <-chan error {
	fired := make(chan error, len(o.blockers))
	for _, p := range o.blockers {
		go func() {
			o.backend.watch(clientv3.WithRequireLeader(ctx), p.path, o.revision)
			fired <- nil
		}()
	}
	return fired
}

// Remains implements [placequeue.Obstacle]. To read the whole queue costs more.
func (o *obstacle) Remains(ctx context.Context) bool {
	op, end := o.backend.opContext(ctx)
	defer end()
	places := append(slices.Clip(o.blockers), o.own)
	if len(places) > maxOps {
		return false
	}
	exist, err := o.backend.exist(op, places)
	return err == nil && !slices.Contains(exist, false)
}

// Err implements [placequeue.Obstacle].
func (o *obstacle) Err(context.Context) error { return o.backend.heldError(o.queue) }

// watch returns when the place at path was deleted after a revision, or when the history
// was compacted since. If the watch fails for another reason, such as a server
// without a leader, it returns after a pause.
//
// All watches share one stream. A server with users checks the token with which the stream
// was opened, and refuses each watch after the token has ended. The client hears of it in a
// reply and keeps the stream. So watches after a failure use another stream, which the
// metadata of their context makes the client open.
func (b *backend) watch(ctx context.Context, path string, after int64) {
	stream := b.stream.Load()
	ctx = metadata.AppendToOutgoingContext(ctx, "distlock-stream", strconv.FormatInt(stream, 10))
	for resp := range b.client.Watch(ctx, path, clientv3.WithRev(after+1), clientv3.WithFilterPut()) {
		if len(resp.Events) > 0 || resp.CompactRevision != 0 {
			return
		}
	}
	if ctx.Err() == nil {
		b.stream.CompareAndSwap(stream, stream+1)
	}
	select {
	case <-time.After(watchPause):
	case <-ctx.Done():
	}
}
