package testkit

import "context"

// waking tells waiters to look after each release.
type waking struct{ s *Store }

// Wake implements [driver.Waker]. Each channel is for all keys.
func (w waking) Wake(ctx context.Context, _ string) <-chan struct{} {
	look := make(chan struct{}, 1)
	look <- struct{}{} // the watch works from now on
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.watches[look] = ctx
	return look
}

// wake tells all waiters to look.
func (s *Store) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for look, ctx := range s.watches {
		if ctx.Err() != nil {
			delete(s.watches, look)
			continue
		}
		select {
		case look <- struct{}{}:
		default:
		}
	}
}
