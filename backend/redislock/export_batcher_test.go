package redislock

import "context"

// eachBatcher calls f for each batcher, under its mutex.
func (b *Backend) eachBatcher(f func(*batcher)) {
	b.dispatcher.mu.Lock()
	defer b.dispatcher.mu.Unlock()
	all := []*batcher{b.dispatcher.defaultBatcher}
	for _, b := range b.dispatcher.batchers {
		all = append(all, b)
	}
	for _, b := range all {
		b.mu.Lock()
		f(b)
		b.mu.Unlock()
	}
}

// InFlight returns the number of batches in flight, Queued that of queued operations.
func (b *Backend) InFlight() (n int) {
	b.eachBatcher(func(b *batcher) { n += b.inFlight })
	return n
}

func (b *Backend) Queued() (n int) {
	b.eachBatcher(func(b *batcher) { n += len(b.queue) })
	return n
}

// RunnerLeaves makes the caller leave that was told to send the queued operations. It
// reports whether another queued caller is told to send them.
func (b *Backend) RunnerLeaves(ctx context.Context) bool {
	at := b.dispatcher.defaultBatcher
	b.dispatcher.observe(true)
	first, next := b.dispatcher.ops.get(), b.dispatcher.ops.get()
	at.mu.Lock()
	first.state, next.state = stateRunner, stateQueued
	at.queue = append(at.queue, first, next)
	at.inFlight++
	at.mu.Unlock()
	at.abandon(ctx, first)
	select {
	case e := <-next.events:
		return e == eventRun
	default:
		return false
	}
}
