package testkit

import (
	"context"
	"maps"
)

// waking tells waiters to look after each release.
type waking struct{ s *Store }

// Wake implements [driver.Waker]. Each channel is for all keys. A hook's error has no effect.
func (w waking) Wake(ctx context.Context, key string) <-chan struct{} {
	_ = w.s.enter(ctx, keyed(Wake, key))
	look := make(chan struct{}, 1)
	look <- struct{}{} // the watch works from now on
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.watches[look] = ctx //nolint:fatcontext // a set of contexts, none of which is derived from another
	return look
}

// WakeAll tells all waiters to look.
func (s *Store) WakeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	for look := range s.watches {
		select {
		case look <- struct{}{}:
		default:
		}
	}
}

// Watches returns the number of watches that have not ended.
func (s *Store) Watches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	return len(s.watches)
}

// forget deletes the watches that have ended.
func (s *Store) forget() {
	maps.DeleteFunc(s.watches, func(_ chan struct{}, ctx context.Context) bool { return ctx.Err() != nil })
}
