package placequeue

import (
	"context"
	"sync"
)

// Background runs the tasks of a Backend that belong to no call. They end when the
// Backend is closed.
type Background struct {
	context.Context //nolint:containedctx // the context of the tasks

	cancel context.CancelCauseFunc
	mu     sync.Mutex // orders Run and Close
	tasks  sync.WaitGroup
}

// NewBackground returns a Background without tasks.
func NewBackground() *Background {
	bg := new(Background)
	bg.Context, bg.cancel = context.WithCancelCause(context.Background()) //nolint:forbidigo // belongs to no call: ended by Close
	return bg
}

// Run runs f on a goroutine. After Close it does nothing: the session has ended, and
// its places with it.
func (bg *Background) Run(f func()) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.Err() == nil {
		bg.tasks.Go(f)
	}
}

// Close ends the context of the tasks for a cause, which calls return. It
// reports whether this is the first call.
func (bg *Background) Close(cause error) (first bool) {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	first = bg.Err() == nil
	bg.cancel(cause)
	return first
}

// Wait returns when all tasks have ended.
func (bg *Background) Wait() { bg.tasks.Wait() }

// Session is what the places of a Backend depend on: the store deletes them when it
// ends. A store embeds it in a type of its own.
type Session struct {
	ended chan struct{}
	once  sync.Once
}

// NewSession returns a session that has not ended.
func NewSession() Session { return Session{ended: make(chan struct{})} }

// Ended returns a channel that is closed when the session is known to have ended.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// HasEnded reports whether the session is known to have ended.
func (s *Session) HasEnded() bool { return IsClosed(s.ended) }

// End records that the session has ended.
func (s *Session) End() { s.once.Do(func() { close(s.ended) }) }

// IsClosed reports whether a channel without values is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
