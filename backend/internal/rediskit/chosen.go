package rediskit

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
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
	dial     func(context.Context) (net.Conn, error) // asks a Sentinel, and connects to the master
	ended    context.Context                         //nolint:containedctx // of the pool
	patience time.Duration                           // with the connections to a Sentinel
	limit    time.Duration                           // of a question
	dropped  atomic.Bool                             // of these connections, since the last answer

	mu     sync.Mutex
	spare  net.Conn      // not used yet, or nil
	born   time.Time     // when a Sentinel was asked for the last spare
	asking chan struct{} // closed when it has answered or failed; nil if none is asked
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
	c, err := s.question(ctx)
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
		select {
		case <-asking:
		case <-time.After(limit):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.born.After(born)
}

// ask makes a spare connection.
func (s *chosen) ask() {
	born := time.Now()
	c, err := s.question(s.ended)
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

// question asks a Sentinel, and connects to the master. A connection to the Sentinel may
// be dead without a word, and go-redis waits for it longer than a lease may last. It
// drops all that it has if there is no answer for a while, and asks all Sentinels on new
// ones.
func (s *chosen) question(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	type dialled struct {
		c   net.Conn
		err error
	}
	first := make(chan dialled)
	go func() {
		// Longer than the limit: go-redis drops a Sentinel that it has just found if
		// the context has ended meanwhile.
		long, cancel := context.WithTimeout(s.ended, unansweredFor)
		defer cancel()
		c, err := s.dial(long)
		select {
		case first <- dialled{c, err}:
		case <-ctx.Done():
			if c != nil {
				_ = c.Close()
			}
		}
	}()
	silent := time.AfterFunc(s.patience, func() { s.drop(ctx) })
	defer silent.Stop()
	select {
	case d := <-first:
		s.dropped.Store(false)
		return d.c, d.err
	case <-ctx.Done():
		return nil, errImpatient
	}
}

// drop makes go-redis close its connections to the Sentinel, unless ctx ends before. It
// does so once until the next answer: the search for another Sentinel takes its time.
func (s *chosen) drop(ctx context.Context) {
	if !s.dropped.CompareAndSwap(false, true) {
		return
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if c, err := s.dial(impatient{over, ctx}); err == nil {
		_ = c.Close()
	}
}

// impatient is a context that is over with an error that is not one of a context, as
// long as its parent is not. go-redis believes that the Sentinel is silent, and not that
// the caller has lost patience.
type impatient struct {
	context.Context                 //nolint:containedctx // is over
	parent          context.Context //nolint:containedctx // is that context
}

var errImpatient = errors.New("a Sentinel does not answer")

func (c impatient) Err() error {
	if err := c.parent.Err(); err != nil {
		return err
	}
	return errImpatient
}
