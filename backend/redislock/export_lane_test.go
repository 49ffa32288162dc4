package redislock

import "context"

// lanes calls f for each, under its mutex.
func (b *Backend) lanes(f func(*lane)) {
	b.fleet.mu.Lock()
	defer b.fleet.mu.Unlock()
	all := []*lane{b.fleet.only}
	for _, l := range b.fleet.lanes {
		all = append(all, l)
	}
	for _, l := range all {
		l.mu.Lock()
		f(l)
		l.mu.Unlock()
	}
}

// Aloft returns how many flights are under way, Queued how many operations wait
// for one.
func (b *Backend) Aloft() (n int) {
	b.lanes(func(l *lane) { n += l.aloft })
	return n
}

func (b *Backend) Queued() (n int) {
	b.lanes(func(l *lane) { n += len(l.queue) })
	return n
}

// LeaderLeaves makes the caller leave that was told to send the queued operations. It
// reports whether another queued caller is told to send them.
func (b *Backend) LeaderLeaves(ctx context.Context) bool {
	l := b.fleet.only
	b.fleet.noticed(true)
	first, next := b.fleet.ops.get(), b.fleet.ops.get()
	l.mu.Lock()
	first.place, next.place = leading, queued
	l.queue = append(l.queue, first, next)
	l.aloft++
	l.mu.Unlock()
	l.leave(ctx, first)
	select {
	case e := <-next.events:
		return e == lead
	default:
		return false
	}
}
