package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
)

// Values of -on-lost.
const (
	onLostKill   = "kill"
	onLostTerm   = "term"
	onLostIgnore = "ignore"
)

const (
	// lookAgain is how often guard checks whether the command's group has ended,
	// because there is not an event for that.
	lookAgain = 10 * time.Millisecond

	// settleTime is how long the command's children may run after the command has
	// ended.
	settleTime = 100 * time.Millisecond

	// killTime is how long processes may take to die after SIGKILL. A process that
	// takes longer is stuck in the kernel, and does not run its own code any more.
	killTime = 5 * time.Second
)

// guard makes sure that the command and its descendants are dead before another holder
// can get the lock.
//
// It does not wait for the end of the lease's context, because then there is little
// time left, and none for SIGTERM. It checks [distlock.Lease.Until], which moves with
// each renewal.
type guard struct {
	lease   *distlock.Lease
	process group
	changes <-chan change   // of the process
	revoked <-chan struct{} // SIGTERM when it is closed; nil: never
	onLost  string
	grace   time.Duration // from SIGTERM to SIGKILL
	reserve time.Duration // time left of the lease at SIGKILL
	warn    func(format string, args ...any)

	lost     error     // why the command was stopped, or would have been
	stopping bool      // SIGTERM was sent
	killAt   time.Time // when to send SIGKILL
	killed   time.Time // when SIGKILL was sent
	ended    time.Time // when the command itself ended; its group may still run
	code     int       // of the command
}

// change is an event of the command: it was stopped, which only Unix reports, or has ended.
type change struct {
	ended   bool
	code    int            // if it has ended
	stopped syscall.Signal // if it was stopped
}

// group is a command with its descendants: a [*process].
type group interface {
	terminate()
	kill()
	gone() bool
	pass(s os.Signal)
	suspend(s syscall.Signal) bool
	resume()
}

// watch forwards signals and guards the command until it and its group have ended. It
// returns the command's exit code and, if the command was stopped because of the lock,
// the reason.
func (g *guard) watch(signals <-chan os.Signal) (code int, lost error) {
	over := g.lease.Context().Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !g.act() {
		timer.Reset(time.Until(g.next()))
		select {
		case c := <-g.changes:
			if c.ended {
				g.ended, g.code = time.Now(), c.code
				break
			}
			if g.stopping || g.process.suspend(c.stopped) {
				g.act() // time may have passed: check the lease before anything runs
				g.process.resume()
			}
		case s := <-signals:
			g.act() // the signal may continue a command that was stopped for long
			g.process.pass(s)
		case <-over:
			over = nil
		case <-g.revoked:
			g.revoked = nil
			g.warn("the lock is asked back: the command gets SIGTERM")
			g.process.terminate()
		case <-timer.C:
		}
	}
	if g.lost != nil && g.onLost != onLostIgnore {
		return exitLost, g.lost
	}
	return g.code, nil
}

// act does everything that is due. It returns true when there is nothing left to guard.
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
		g.stop(now, g.grace)
	}
	return false
}

// checkLease stops the command if the lease has ended or will end soon.
func (g *guard) checkLease(now time.Time) {
	end := g.lease.Until()
	g.lost = g.lease.Check()
	switch {
	case g.lost != nil && g.onLost == onLostIgnore:
		g.warn("the command continues without its lock: %v", g.reason())
		return
	case g.lost == nil && (g.onLost == onLostIgnore || now.Before(g.stopAt(end))):
		return
	case g.lost == nil:
		g.lost = fmt.Errorf("the lease ends in %v: it was not renewed, or -max-hold ends it", time.Until(end).Round(time.Millisecond))
	}
	g.warn("the command is stopped: %v", g.reason())
	g.stop(now, g.graceIfLost())
}

// graceIfLost returns the grace period of a command that has lost its lock.
func (g *guard) graceIfLost() time.Duration {
	if g.onLost == onLostTerm {
		return g.grace
	}
	return 0
}

// reason returns why the lease has ended, as far as its context knows.
func (g *guard) reason() error {
	if cause := context.Cause(g.lease.Context()); cause != nil {
		return cause
	}
	return g.lost
}

// stop sends SIGTERM to the command's group, and gives it a grace period, but no more than
// the rest of the lease. Without one, it gets SIGKILL at once.
func (g *guard) stop(now time.Time, grace time.Duration) {
	g.stopping, g.killAt = true, now.Add(grace)
	if end := g.lease.Until().Add(-g.reserve); g.onLost != onLostIgnore && end.Before(g.killAt) {
		g.killAt = end
	}
	if now.Before(g.killAt) {
		g.process.terminate()
	}
}

// refreshShort extends a lease that a message granted: it is short at first, and the guard
// would stop the command. If there is no answer, the guard decides.
func refreshShort(lease *distlock.Lease, keyTimeout time.Duration) {
	if time.Until(lease.Until()) < keyTimeout/2 {
		_ = lease.Refresh(lease.Context())
	}
}

// stopAt returns when to stop the command if its lease ends at end.
func (g *guard) stopAt(end time.Time) time.Time { return end.Add(-g.reserve - g.graceIfLost()) }

// next returns when act has to be called again if nothing happens before.
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
