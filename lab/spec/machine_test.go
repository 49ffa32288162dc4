package spec

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
)

// machine is a bubble with a clock of its own. Time stands still there except in do.
type machine struct {
	ctx   context.Context //nolint:containedctx // of the bubble
	start time.Time
	todo  chan func()
	done  chan struct{}
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{todo: make(chan func()), done: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		synctest.Test(t, func(t *testing.T) {
			m.ctx = t.Context()
			for f := range m.todo { // a channel from outside: while the bubble waits for it, its clock stands still
				f()
				synctest.Wait()
				m.done <- struct{}{}
			}
		})
	}()
	t.Cleanup(func() {
		close(m.todo)
		<-ended
	})
	return m
}

// do runs f in the bubble, and returns when nothing goes on there.
func (m *machine) do(f func()) {
	m.todo <- f
	<-m.done
}

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
	grant  driver.Grant
	status driver.RenewStatus
	err    error
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

// reply ends the call.
func (l *link) reply(a answer) {
	c := l.call
	l.call = nil
	c.answer <- a
}

// Features implements [driver.Backend].
func (l *link) Features() driver.Features { return driver.Features{} }

// Acquire implements [driver.Queuer]. The attempts that the history makes in one wait are one
// call.
func (l *link) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	a := l.pass(ctx.Done(), &call{kind: "try", request: r})
	return a.grant, errors.Join(a.err, ctx.Err())
}

// Renew implements [driver.Backend].
func (l *link) Renew(ctx context.Context, grants []driver.Grant, report func(int, driver.RenewResult)) {
	if ctx.Value(asked{}) == nil {
		return
	}
	a := l.pass(nil, &call{kind: "renew", grant: grants[0]})
	report(0, driver.RenewResult{Status: a.status, Err: a.err})
}

// Release implements [driver.Backend]. The history says how long it takes, not ctx.
func (l *link) Release(_ context.Context, g driver.Grant) error {
	return l.pass(nil, &call{kind: "release", grant: g}).err
}

// process is a process of the history: a Locker, and what uses it.
type process struct {
	*machine
	*link
	*hold
	locker  *distlock.Locker
	behind  time.Duration // how much of its pause its clock does not show yet
	resting bool          // the Locker heard nothing, and pauses before it asks again
	claim   time.Time     // until when it may believe a message
	closers []func()
}

// hold is one acquisition.
type hold struct {
	cancel   context.CancelFunc
	lease    *distlock.Lease // nil: not acquired
	returned bool            // by Acquire
	released bool            // Release was called
	finished bool            // it has returned
	since    int             // when the Locker began to release in the background
	enough   time.Duration   // what must be left of the lease for another holder in the process
}

// boot starts the process, also after a crash.
func (p *process) boot() {
	p.do(func() {
		l := &link{end: make(chan struct{})}
		p.link, p.hold, p.resting = l, &hold{cancel: func() {}, returned: true}, false
		locker := distlock.New(l, distlock.Config{HandOverTime: time.Hour})
		p.locker = locker
		p.closers = append(p.closers, func() {
			close(l.end)
			_ = locker.Close()
		})
	})
}

func (p *process) crash() {
	p.do(func() { p.cut, p.call = true, nil })
	p.boot()
	p.catchUp()
}

// catchUp moves the clock of a process on that was paused.
func (p *process) catchUp() {
	p.do(func() { time.Sleep(p.behind) })
	p.behind = 0
}

func (p *process) shutDown() {
	p.do(p.hold.cancel)
	for _, f := range p.closers {
		p.do(f)
	}
}

func (p *process) acquire() *hold {
	h, l := &hold{}, p.locker
	p.do(func() {
		ctx, cancel := context.WithCancel(p.ctx)
		h.cancel = cancel
		go func() {
			h.lease, _ = l.Acquire(ctx, key, distlock.Opts{KeyTimeout: lease, RetryInterval: retry})
			h.returned = true
		}()
	})
	return h
}

func (p *process) release() {
	h := p.hold
	h.released = true
	p.do(func() {
		go func() {
			_ = h.lease.Release(p.ctx)
			h.finished = true
		}()
	})
}

func (p *process) refresh() {
	s := p.lease
	p.do(func() { go func() { _ = s.Refresh(context.WithValue(p.ctx, asked{}, true)) }() })
}
