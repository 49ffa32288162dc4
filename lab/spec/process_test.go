package spec

import (
	"context"
	"time"

	"github.com/distlock-go/distlock"
)

// process is a process of the history: a Locker, and what uses it.
type process struct {
	*machine
	*link
	*hold
	locker  *distlock.Locker
	start   time.Time     // when its clock showed 0
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
	finished bool            // Release has returned
	since    int             // when the Locker began to release in the background
	enough   time.Duration   // what must be left of the lease for another holder in the process
	others   bool            // another process waited when the lease was granted
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
	p.sever()
	p.boot()
	p.catchUp()
}

// catchUp moves the clock of a process on that was paused.
func (p *process) catchUp() {
	p.do(func() { time.Sleep(p.behind) })
	p.behind = 0
}

func (p *process) shutDown() {
	p.do(p.cancel)
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
