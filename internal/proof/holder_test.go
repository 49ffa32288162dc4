package proof_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/child"
)

// decoyKey is of a lease whose end nobody notices until the process is awake.
const decoyKey = "decoy"

// stuckCtx holds up whatever cancels a context below it until it is awake.
type stuckCtx struct {
	context.Context
	awake <-chan struct{}
}

func (c stuckCtx) Done() <-chan struct{} { return c.awake }

// AfterFunc is the method that the context package asks for; the function that it
// returns is called when the context below is cancelled.
func (c stuckCtx) AfterFunc(func()) func() bool {
	return func() bool {
		<-c.awake
		return true
	}
}

// holdKey holds the key and does what it is told with it.
func holdKey(t *task) error {
	lease, err := t.Acquire(context.Background(), key, distlock.Opts{KeyTimeout: t.Lease})
	if err != nil {
		return err
	}
	t.say("held", lease.Token())
	for {
		switch line := t.hear(); line {
		case "left":
			t.say("left", int64(time.Until(lease.Until())))
		case "write":
			ok, err := t.register.ask("write", lease.Token())
			if err != nil {
				return err
			}
			t.say("wrote", ok)
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

// sleepWalk stops this process between a check and the write that it guards, and
// says what it finds when it goes on.
func (t *task) sleepWalk(lease *distlock.Lease) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	// This lease is over first, which keeps busy what looks after leases in the
	// background: it might be as quick as this goroutine when the process goes on.
	decoy, err := t.Acquire(stuckCtx{context.Background(), t.awake}, decoyKey, distlock.Opts{KeyTimeout: t.Lease / 2, NoWatchdog: true})
	if err != nil {
		return err
	}
	decoy.Context().Done() // creates the context that is to be cancelled
	before := lease.Valid()
	start := time.Now()
	t.say("stopping")
	if err := child.Stop(self); err != nil {
		return err
	}
	for time.Since(start) < 2*t.Lease {
		continue // until it has stopped, and goes on
	}
	after := lease.Valid()
	close(t.awake)
	slept := time.Since(start)
	wrote, err := t.register.ask("write", lease.Token()) // as if there had been no second check
	if err != nil {
		return err
	}
	<-lease.Context().Done()
	_ = decoy.Release(context.Background()) // it was lost
	t.say("woke", before, after, wrote, int64(slept), kinds(context.Cause(lease.Context())), kinds(lease.Release(context.Background())))
	return nil
}
