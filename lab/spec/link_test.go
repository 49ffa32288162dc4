package spec

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/distlock-go/distlock/driver"
)

// nothing is what a process hears when a request or its answer is lost.
var nothing = answer{err: errors.New("no answer")}

// link is the store, as one Locker sees it. Each request stays there until the history says
// what becomes of it.
type link struct {
	driver.Backend // nil

	mu   sync.Mutex
	call *call         // what the Locker waits for
	cut  bool          // the process has crashed: nothing leaves it
	end  chan struct{} // closed at the end of the history
}

// call is a request of the Locker.
type call struct {
	kind    string
	request driver.Request // try
	grant   driver.Grant   // renew, release
	sent    time.Time      // by the clock of the process; zero: not yet
	got     answer         // what the store has answered
	answer  chan answer
}

// answer is the answer to a request.
type answer struct {
	grant driver.Grant
	err   error
}

// asked marks the context of a renewal that the history asks for. Those that the Locker sends
// by itself are lost.
type asked struct{}

func (l *link) pass(gone <-chan struct{}, c *call) answer {
	c.answer = make(chan answer, 1)
	l.mu.Lock()
	if !l.cut {
		l.call = c
	}
	l.mu.Unlock()
	select {
	case a := <-c.answer:
		return a
	case <-gone:
	case <-l.end:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.call == c {
		l.call = nil
	}
	return nothing
}

// waiting returns what the Locker waits for, or nil.
func (l *link) waiting() *call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.call
}

// reply ends the call.
func (l *link) reply(a answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.call.answer <- a
	l.call = nil
}

// sever loses all requests from now on.
func (l *link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.call = true, nil
}

// Features implements [driver.Backend].
func (l *link) Features() driver.Features { return driver.Features{} }

// Enqueue implements [driver.Queuer]. The attempts that the history makes in one wait are one
// call.
func (l *link) Enqueue(ctx context.Context, r driver.Request) (driver.Grant, error) {
	a := l.pass(ctx.Done(), &call{kind: "try", request: r})
	return a.grant, errors.Join(a.err, ctx.Err())
}

// Turn implements [driver.Waker]. The history knows when an attempt succeeds.
func (*link) Turn(context.Context, driver.Request) <-chan driver.Grant { return nil }

// Renew implements [driver.Backend].
func (l *link) Renew(ctx context.Context, grants []driver.Grant, report func(int, error)) {
	if ctx.Value(asked{}) == nil {
		return
	}
	a := l.pass(nil, &call{kind: "renew", grant: grants[0]})
	report(0, a.err)
}

// Release implements [driver.Backend]. The history says how long it takes, not ctx.
func (l *link) Release(_ context.Context, g driver.Grant) error {
	return l.pass(nil, &call{kind: "release", grant: g}).err
}
