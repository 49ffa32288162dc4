package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/distlock-go/distlock"
)

// What to do with the command if the lock is lost.
const (
	onLostKill   = "kill"
	onLostTerm   = "term"
	onLostIgnore = "ignore"
)

const (
	// lookAgain is how often it is looked whether the command's group is gone. No
	// event tells.
	lookAgain = 10 * time.Millisecond

	// settleTime is what the command's own children have to end after it.
	settleTime = 100 * time.Millisecond

	// killTime is how long processes may take to die of SIGKILL. One that takes
	// longer is stuck in the kernel, and runs no more of its code.
	killTime = 5 * time.Second
)

// guard sees to it that the command and what it started are dead before the lock
// can be another's.
//
// It does not wait for the lease's context to end, because from then on there is
// little time left, and none for a SIGTERM: it looks at [distlock.Lease.Until],
// which each renewal puts off.
type guard struct {
	lease   *distlock.Lease
	process *process
	onLost  string
	grace   time.Duration // between SIGTERM and SIGKILL
	reserve time.Duration // of the lease is left at the SIGKILL
	warn    func(format string, args ...any)

	lost     error     // why the command was stopped, or would have been
	stopping bool      // it was told to end
	killAt   time.Time // if it does not
	killed   time.Time // when it was killed
	ended    time.Time // when the command itself had ended; the group may go on
	code     int       // of the command
}

// watch passes signals on and guards the command until it and its group have
// ended. It returns its exit code, and why it was stopped if that was for the lock.
func (g *guard) watch(signals <-chan os.Signal) (code int, lost error) {
	over := g.lease.Context().Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !g.act() {
		timer.Reset(time.Until(g.next()))
		select {
		case c := <-g.process.changes:
			if c.ended {
				g.ended, g.code = time.Now(), c.code
				break
			}
			if g.stopping || g.process.suspend(c.stopped) {
				g.act() // time may have passed: the lease is looked at before anything runs
				g.process.resume()
			}
		case s := <-signals:
			g.act() // the signal may wake what was stopped for a long time
			g.process.pass(s)
		case <-over:
			over = nil
		case <-timer.C:
		}
	}
	if g.lost != nil && g.onLost != onLostIgnore {
		return exitLost, g.lost
	}
	return g.code, nil
}

// act does what is to be done by now. It returns true when there is nothing left
// to guard.
func (g *guard) act() (done bool) {
	now := time.Now()
	if g.lost == nil {
		g.checkLease(now)
	}
	if g.stopping && g.killed.IsZero() && !now.Before(g.killAt) {
		g.killed = now
		g.process.kill()
	}
	switch {
	case g.ended.IsZero():
		return false
	case g.process.gone():
		return true
	case !g.killed.IsZero():
		if now.Sub(g.killed) < killTime {
			return false
		}
		g.warn("processes of the command cannot be killed")
		return true
	case !g.stopping && now.Sub(g.ended) >= settleTime:
		g.warn("the command has ended and left processes behind, which are stopped now")
		g.stop(now)
	}
	return false
}

// checkLease stops the command if the lease is over, or soon will be.
func (g *guard) checkLease(now time.Time) {
	if g.onLost == onLostIgnore {
		if g.lost = g.lease.Check(); g.lost != nil {
			g.warn("the command runs on without its lock: %v", g.reason())
		}
		return
	}
	if g.lost = g.lease.Check(); g.lost == nil {
		if end := g.lease.Until(); now.Before(g.stopAt(end)) {
			return
		} else if g.lost = g.lease.Check(); g.lost == nil {
			g.lost = fmt.Errorf("the lease ends in %v and was not renewed", time.Until(end).Round(time.Millisecond))
		}
	}
	g.warn("the command is stopped: %v", g.reason())
	if g.onLost == onLostKill {
		g.stopping, g.killAt = true, now
		return
	}
	g.stop(now)
}

// reason is why the lease is over, as far as its context knows.
func (g *guard) reason() error {
	if cause := context.Cause(g.lease.Context()); cause != nil {
		return cause
	}
	return g.lost
}

// stop tells the command's group to end, and gives it the grace, but no more than
// the lease has left.
func (g *guard) stop(now time.Time) {
	g.stopping, g.killAt = true, now.Add(g.grace)
	if end := g.lease.Until().Add(-g.reserve); g.onLost != onLostIgnore && end.Before(g.killAt) {
		g.killAt = end
	}
	if now.Before(g.killAt) {
		g.process.terminate()
	}
}

// stopAt is when a command is to be stopped whose lease ends then.
func (g *guard) stopAt(end time.Time) time.Time {
	end = end.Add(-g.reserve)
	if g.onLost == onLostTerm {
		end = end.Add(-g.grace)
	}
	return end
}

// next is when act has something to do if nothing happens before.
func (g *guard) next() time.Time {
	switch {
	case !g.ended.IsZero():
		return time.Now().Add(lookAgain)
	case g.stopping && g.killed.IsZero():
		return g.killAt
	case g.lost == nil && g.onLost != onLostIgnore:
		return g.stopAt(g.lease.Until())
	default:
		return time.Now().Add(time.Hour)
	}
}
