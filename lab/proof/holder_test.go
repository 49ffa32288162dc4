package proof_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// decoyKey is the key of a lease that keeps the watchdog busy.
const decoyKey = "decoy"

// stuckCtx blocks the cancellation of contexts that are derived from it, when sticks is set and
// until awake is closed.
type stuckCtx struct {
	context.Context
	sticks *atomic.Bool
	awake  <-chan struct{}
}

func (c stuckCtx) Done() <-chan struct{} { return c.awake }

// AfterFunc is the method that package context looks for. The function that it returns
// is called when a derived context is cancelled.
func (c stuckCtx) AfterFunc(func()) func() bool {
	return func() bool {
		if c.sticks.Load() {
			<-c.awake
		}
		return true
	}
}

// holdKey holds the key and obeys the parent's commands.
func holdKey(t *task) error {
	lease, err := t.Acquire(context.Background(), key, distlock.Opts{KeyTimeout: t.Lease})
	if err != nil {
		return err
	}
	t.Say("held", lease.Token())
	for {
		switch line := t.Hear(); line {
		case "left":
			t.Say("left", int64(time.Until(lease.Until())))
		case "write":
			ok, err := t.register.Use(testkit.Use{Key: key, Token: lease.Token()})
			if err != nil {
				return err
			}
			t.Say("wrote", ok)
		case "stop":
			if err := t.sleepWalk(lease); err != nil {
				return err
			}
		case "":
			return nil
		default:
			return fmt.Errorf("what is %q?", line)
		}
	}
}

// sleepWalk stops this process between a check and the write that the check guards.
// When the process continues, it reports the state of its lease.
func (t *task) sleepWalk(lease *distlock.Lease) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	// This lease ends first, and its cancellation blocks the watchdog. Otherwise the
	// watchdog might be as quick as this goroutine when the process continues.
	sticks := new(atomic.Bool) // not for the store, which derives contexts for its requests
	decoy, err := t.Acquire(stuckCtx{context.Background(), sticks, t.awake}, decoyKey, distlock.Opts{KeyTimeout: t.Lease / 2})
	if err != nil {
		return err
	}
	sticks.Store(true)
	decoy.Context().Done() // creates the context that will be cancelled
	before := lease.Check() == nil
	start := time.Now()
	t.Say("stopping")
	if err := child.Stop(self); err != nil {
		return err
	}
	for time.Since(start) < 2*t.Lease {
		continue // until it has been stopped and continued
	}
	after := lease.Check() == nil
	close(t.awake)
	slept := time.Since(start)
	wrote, err := t.register.Use(testkit.Use{Key: key, Token: lease.Token()}) // as if there were no second check
	if err != nil {
		return err
	}
	<-lease.Context().Done()
	_ = decoy.Release(context.Background()) // it is lost
	t.Say("woke", before, after, wrote, int64(slept), testkit.Kinds(context.Cause(lease.Context())), testkit.Kinds(lease.Release(context.Background())))
	return nil
}
