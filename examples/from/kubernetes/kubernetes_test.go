// Package kubernetes has code of docs/migrating.md.
package kubernetes

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
)

// request is work for the leader.
type request struct{ done func(term uint64) }

var requests chan request

func lead(ctx context.Context, locker *distlock.Locker) error {
	return locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:", KeyTimeout: 15 * time.Second}, run)
}

func run(ctx context.Context) error {
	lease, _ := distlock.FromContext(ctx)
	for term := lease.Token(); ; {
		select {
		case r := <-requests:
			r.done(term)
		case <-ctx.Done(): // deposed, or shut down
			return nil
		}
	}
}

// onStartedLeading is that of the release in between.
func onStartedLeading(locker *distlock.Locker) func(context.Context) {
	return func(ctx context.Context) {
		err := locker.Lead(ctx, "report", distlock.Opts{Prefix: "leader:"}, run)
		slog.InfoContext(ctx, "resigned", "reason", err)
	}
}

// TestLead: one of two processes leads. When it is shut down, the other one leads at once,
// with a larger term, and so does a process of the release in between.
func TestLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests = make(chan request)
		store := memlock.New()
		var terms []uint64
		ask := func() {
			t.Helper()
			answer := make(chan uint64, 1)
			select {
			case requests <- request{done: func(term uint64) { answer <- term }}:
				terms = append(terms, <-answer)
			case <-time.After(time.Second):
				t.Fatal("there is no leader")
			}
		}
		campaign := func(f func(context.Context, *distlock.Locker)) (shutdown func()) {
			locker := distlock.New(store, distlock.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				f(ctx, locker)
			}()
			synctest.Wait()
			return func() {
				cancel()
				<-done
				if err := locker.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		after := func(ctx context.Context, locker *distlock.Locker) {
			if err := lead(ctx, locker); !errors.Is(err, context.Canceled) {
				t.Errorf("Lead: %v", err)
			}
		}
		first := campaign(after)
		second := campaign(func(ctx context.Context, locker *distlock.Locker) { onStartedLeading(locker)(ctx) })
		third := campaign(after)
		ask()
		first()
		ask()
		second()
		ask()
		third()
		if terms[0] >= terms[1] || terms[1] >= terms[2] {
			t.Errorf("the terms do not rise: %d", terms)
		}
	})
}
