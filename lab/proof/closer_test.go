package proof_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
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
	passed := newOutcomes()
	for range 20 {
		all.Go(func() {
			for err := error(nil); err == nil; {
				err = t.Do(ctx, passedKey, o, func(context.Context) error { passed.visited(100); return nil })
				passed.add(err)
			}
		})
	}
	waiting := newOutcomes()
	full := make(chan struct{})
	for range 3 { // one in the store's queue, one at the gate, one refused
		all.Go(func() {
			o := o
			o.MaxWaiters = 1
			if _, err := t.Acquire(ctx, busyKey, o); errors.Is(err, distlock.ErrQueueFull) {
				close(full)
			} else {
				waiting.add(err)
			}
		})
	}
	<-started
	<-full
	<-passed.many
	t.Say("ready")

	<-term
	begun := time.Now()
	closed := t.Close()
	took := time.Since(begun)
	_, err = t.Acquire(ctx, "close:new", o)
	all.Wait()
	t.Say("closed", int64(took), kinds(closed), kinds(err), kinds(held), kinds(kept.Check()), passed, waiting)
	t.Hear()
	return nil
}

// outcomes counts how calls ended.
type outcomes struct {
	many chan struct{} // closed after that many visits

	mu     sync.Mutex
	visits int
	kinds  []string
}

func newOutcomes() *outcomes { return &outcomes{many: make(chan struct{})} }

func (o *outcomes) add(err error) {
	if err == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kinds = append(o.kinds, kinds(err))
}

func (o *outcomes) visited(many int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.visits++; o.visits == many {
		close(o.many)
	}
}

// String lists the kinds of outcomes that occurred.
func (o *outcomes) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.kinds)
	return strings.Join(slices.Compact(o.kinds), ",")
}
