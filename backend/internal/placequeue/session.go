package placequeue

import "sync"

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
