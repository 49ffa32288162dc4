package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"

	"github.com/distlock-go/distlock/driver"
)

// watchPause is the wait after a watch that has failed.
const watchPause = 200 * time.Millisecond

// waiter is one call of Acquire that waits.
type waiter struct {
	backend *Backend
	ticket  *ticket
	backoff driver.Backoff
	last    obstacle    // what it waited for last
	timer   *time.Timer // when to look without an event; nil if it is not set
}

func (w *waiter) stop() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// wait returns nil when one of the places that it waits for was deleted. An event does not
// count as an attempt of the budget: the timer continues.
func (w *waiter) wait(ctx context.Context) error {
	watching, end := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer end()
	fired := make(chan struct{}, len(w.last.blockers))
	after := w.last.revision
	for _, p := range w.last.blockers {
		go func() {
			w.backend.watch(watching, p.path, after)
			fired <- struct{}{}
		}()
	}
	for {
		if w.timer == nil {
			d, ok := w.backoff.Wait()
			if !ok {
				return errSpent
			}
			w.timer = time.NewTimer(d)
		}
		select {
		case <-ctx.Done():
			return w.backend.explain(ctx, ctx.Err())
		case <-w.backend.background.Done():
			return errClosed
		case <-w.ticket.Gone:
			return errGivenUp
		case <-fired:
			return nil
		case <-w.last.session.ended:
			return nil
		case <-w.timer.C:
			if w.timer = nil; !w.unchanged(ctx) {
				return nil
			}
		}
	}
}

// unchanged reports whether the ticket's place and those that it waits for exist. To read
// the whole queue costs more.
func (w *waiter) unchanged(ctx context.Context) bool {
	op, end := w.backend.opContext(ctx)
	defer end()
	places := append(slices.Clip(w.last.blockers), w.last.own)
	if len(places) > maxOps {
		return false
	}
	exist, err := w.backend.exist(op, places)
	return err == nil && !slices.Contains(exist, false)
}

// watch returns when the place at path was deleted after a revision, or when the history
// was compacted since. If the watch fails for another reason, such as a server
// without a leader, it returns after a pause.
//
// All watches share one stream. A server with users checks the token with which the stream
// was opened, and refuses each watch after the token has ended. The client hears of it in a
// reply and keeps the stream. So watches after a failure use another stream, which the
// metadata of their context makes the client open.
func (b *Backend) watch(ctx context.Context, path string, after int64) {
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

// explain returns the error of Acquire after err. If ctx or the budget ended the wait, the
// error also names the holder.
func (w *waiter) explain(ctx context.Context, err error) error {
	switch {
	case err == nil, len(w.last.queue) == 0, errors.Is(err, errGivenUp):
		return err
	case errors.Is(err, errSpent):
		return w.backend.heldError(w.last.queue)
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w", w.backend.heldError(w.last.queue), err)
	}
	return err
}
