// Package kubernetes has code of docs/migrating.md.
package kubernetes

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// requests are work for the leader, which answers with its term.
var requests chan chan uint64

func lead(ctx context.Context, locker *distlock.Locker) error {
	return locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:", KeyTimeout: 15 * time.Second}, run)
}

func run(ctx context.Context) error {
	lease, _ := distlock.FromContext(ctx)
	for term := lease.Token(); ; {
		select {
		case answer := <-requests:
			answer <- term
		case <-ctx.Done(): // deposed, or shut down
			return nil
		}
	}
}

// onStartedLeading is the callback in the release in between.
func onStartedLeading(locker *distlock.Locker) func(context.Context) {
	return func(ctx context.Context) {
		err := locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:"}, run)
		slog.InfoContext(ctx, "resigned", "reason", err)
	}
}

// TestLead: one of two processes leads. When it is shut down, the other one leads at
// once, with a larger term, and so does a process of the release in between.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests = make(chan chan uint64)
		store := memlock.New()
		after := func(ctx context.Context, locker *distlock.Locker) {
			testkit.WantIs(t, lead(ctx, locker), context.Canceled)
		}
		var shutdown []func()
		for _, f := range []func(context.Context, *distlock.Locker){
			after, func(ctx context.Context, locker *distlock.Locker) { onStartedLeading(locker)(ctx) }, after,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			locker := testkit.NewLocker(t, store, distlock.Config{})
			go func() { defer close(done); f(ctx, locker) }()
			synctest.Wait()
			shutdown = append(shutdown, func() { cancel(); <-done })
		}
		last := uint64(0)
		for _, stop := range shutdown {
			answer := make(chan uint64, 1)
			select {
			case requests <- answer:
			case <-time.After(time.Second):
				t.Fatal("there is no leader")
			}
			if term := <-answer; term <= last {
				t.Errorf("term %d after %d", term, last)
			} else {
				last = term
			}
			stop()
		}
	})
}
