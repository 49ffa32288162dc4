package rediskit

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// chosenFor is how long a connection is used that a Sentinel has chosen. go-redis
	// tells only the user's client of a new master. The old one usually closes its
	// connections, but not if it is cut off from the Sentinels.
	chosenFor = time.Second

	// unansweredFor is how long it is used while the Sentinels do not answer. It is as
	// long as the default lease, and longer than the search for another Sentinel takes.
	unansweredFor = 10 * time.Second
)

// chosen makes the connections of an [OwnPool] to the master that Sentinels name. A
// connection of more than a second is replaced by one that was made meanwhile.
type chosen struct {
	dial  func(context.Context) (net.Conn, error) // asks a Sentinel, and connects to the master
	ended context.Context                         //nolint:containedctx // of the pool

	mu     sync.Mutex
	spare  net.Conn      // not used yet, or nil
	born   time.Time     // when a Sentinel was asked for the last spare
	asking chan struct{} // closed when it has answered or failed; nil if none is asked
}

func newChosen(ended context.Context, dial func(context.Context) (net.Conn, error)) *chosen {
	s := &chosen{dial: dial, ended: ended}
	context.AfterFunc(ended, func() { s.keep(nil, time.Time{}) })
	return s
}

// connect returns a connection, and when a Sentinel was asked for it.
func (s *chosen) connect(ctx context.Context) (net.Conn, time.Time, error) {
	s.mu.Lock()
	c, born := s.spare, s.born
	s.spare = nil
	s.mu.Unlock()
	if c != nil && time.Since(born) <= chosenFor {
		return c, born, nil
	}
	if c != nil {
		_ = c.Close()
	}
	born = time.Now()
	c, err := s.dial(ctx)
	return c, born, err
}

// usable reports whether a connection may be used: it is new, or there is no newer one
// after the time limit. It may not, if no Sentinel has answered for too long.
func (s *chosen) usable(born time.Time, limit time.Duration) bool {
	if age := time.Since(born); age <= chosenFor || age > unansweredFor {
		return age <= chosenFor
	}
	s.mu.Lock()
	if s.asking == nil && !s.born.After(born) {
		s.asking = make(chan struct{})
		go s.ask()
	}
	asking := s.asking
	s.mu.Unlock()
	if asking != nil {
		late := time.NewTimer(limit)
		defer late.Stop()
		select {
		case <-asking:
		case <-late.C:
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.born.After(born)
}

// ask makes a spare connection.
func (s *chosen) ask() {
	born := time.Now()
	c, err := s.dial(s.ended)
	if err == nil {
		s.keep(c, born)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.asking)
	s.asking = nil
}

// keep replaces the spare connection.
func (s *chosen) keep(c net.Conn, born time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare != nil {
		_ = s.spare.Close()
	}
	if s.spare, s.born = c, born; c != nil && s.ended.Err() != nil {
		_ = c.Close()
	}
}

// mostSideBySide is more than the idle connections that go-redis has to a Sentinel.
const mostSideBySide = 4

// sideBySide calls dial, and calls it again whenever nothing has come for a while. It
// returns what comes first. The connection to the Sentinel may be dead, and go-redis
// waits for it longer than a lease may last. Each further question gets another
// connection, in the end a new one.
func sideBySide(ctx context.Context, pause time.Duration, dial func(context.Context) (net.Conn, error)) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type dialled struct {
		c   net.Conn
		err error
	}
	first := make(chan dialled)
	again := time.NewTicker(pause)
	defer again.Stop()
	for n := 1; ; n++ {
		if n <= mostSideBySide {
			go func() {
				c, err := dial(ctx)
				select {
				case first <- dialled{c, err}:
				case <-ctx.Done():
					if c != nil {
						_ = c.Close()
					}
				}
			}()
		}
		select {
		case d := <-first:
			return d.c, d.err
		case <-again.C:
		case <-ctx.Done():
			return nil, impatient{ctx}.Err()
		}
	}
}

// impatient is a context that ends after a time with an error that is not one of a
// context. Otherwise go-redis keeps the Sentinel that did not answer: it believes that
// the caller has lost patience, and not that the Sentinel is silent.
type impatient struct {
	context.Context //nolint:containedctx // is that context, with another error
}

var errImpatient = errors.New("a Sentinel does not answer")

// Err implements [context.Context].
func (c impatient) Err() error {
	if err := c.Context.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return errImpatient
}
