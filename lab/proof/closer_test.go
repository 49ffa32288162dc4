package proof_test

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/distlock-go/distlock"
)

// closeTimeout is how long a child process that closes its Locker waits for the
// holders.
const closeTimeout = time.Second

// The keys of a process that is to be closed.
const (
	heldKey   = "close:held"   // held by a function that returns when its context ends
	keptKey   = "close:kept"   // held by a caller that does not release it
	passedKey = "close:passed" // passed from one caller of the process to the next
	busyKey   = "close:busy"   // held by another process
)

// beClosed holds keys, passes one on, waits for another, and closes its Locker when the
// process gets SIGTERM.
func beClosed(t *task) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	ctx := context.Background()
	o := distlock.Opts{KeyTimeout: t.Lease}
	kept, err := t.Acquire(ctx, keptKey, o)
	if err != nil {
		return err
	}
	var all sync.WaitGroup
	var held error
	started := make(chan struct{})
	all.Go(func() {
		held = t.Do(ctx, heldKey, o, func(ctx context.Context) error {
			close(started)
			<-ctx.Done()
			return nil
		})
	})
	var visits atomic.Int64
	many := make(chan struct{})
	passed, waiting := make([]string, 20), make([]string, 3)
	for i := range passed {
		all.Go(func() {
			for passed[i] = "none"; passed[i] == "none"; {
				passed[i] = kinds(t.Do(ctx, passedKey, o, func(context.Context) error {
					if visits.Add(1) == 100 {
						close(many)
					}
					return nil
				}))
			}
		})
	}
	for i := range waiting { // one in the store's queue, the others at the gate
		all.Go(func() {
			_, err := t.Acquire(ctx, busyKey, o)
			waiting[i] = kinds(err)
		})
	}
	<-started
	<-many
	t.Say("ready")

	<-term
	begun := time.Now()
	closed := t.Close()
	took := time.Since(begun)
	_, err = t.Acquire(ctx, "close:new", o)
	all.Wait()
	t.Say("closed", int64(took), kinds(closed), kinds(err), kinds(held), kinds(kept.Check()), list(passed), list(waiting))
	t.Hear()
	return nil
}

// list lists the kinds of errors that occurred.
func list(kinds []string) string {
	slices.Sort(kinds)
	return strings.Join(slices.Compact(kinds), ",")
}
