package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/cmd/backendurl"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/sqltest"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

var handOffRoles = map[string]func(*testkit.Child) error{"giver": giver}

// giver takes the lock, hands it off, and says at each line that it hears what it may still do.
func giver(c *testkit.Child) error {
	var url string
	if err := c.Decode(&url); err != nil {
		return err
	}
	b, err := backendurl.Open(context.Background(), url)
	if err != nil {
		return err
	}
	lease, err := distlock.New(b.Backend, distlock.Config{}).Acquire(context.Background(), "order", distlock.Opts{KeyTimeout: 3 * time.Second})
	if err != nil {
		return err
	}
	handle, err := lease.HandOff(context.Background())
	if err != nil {
		return err
	}
	c.Say("handle", handle, lease.Token())
	c.Hear()
	over := errors.Is(lease.Check(), distlock.ErrLost) && errors.Is(lease.Refresh(context.Background()), distlock.ErrLost)
	c.Say("over", over, lease.Release(context.Background()) == nil)
	c.Hear()
	return nil
}

// The giver is killed when it has printed the handle, or stopped and continued after the
// adoption; and three Lockers with connections of their own adopt one handle.
func TestHandOffBetweenProcesses(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) string{
		"Redis":      func(t *testing.T) string { t.Helper(); return "redis://" + redistest.Start(t).Addr() },
		"PostgreSQL": func(t *testing.T) string { t.Helper(); return sqltest.Postgres.Start(t).URL("postgres") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t, start(t))
			t.Run("killed", q.killed)
			t.Run("stopped", q.stopped)
			t.Run("twice", q.twice)
		})
	}
}

// given starts a giver, and returns it with its handle and its token.
func (q *queue) given(t *testing.T) (p *testkit.Process, handle string, token uint64) {
	t.Helper()
	p = testkit.StartChild(t, "giver", q.url)
	p.Hear("handle", &handle, &token)
	return p, handle, token
}

// holds checks that the lease is held for twice its length, and is released.
func (q *queue) holds(t *testing.T, lease *distlock.Lease, token uint64) {
	t.Helper()
	for start := time.Now(); time.Since(start) < 6*time.Second; <-time.After(50 * time.Millisecond) {
		if err := lease.Check(); err != nil || lease.Token() != token {
			t.Fatalf("token %d, want %d; %v", lease.Token(), token, err)
		}
	}
	found, err := admin.Inspect(t.Context(), q.locker, "order", 1)
	if err != nil || len(found) != 1 || found[0].Held != 1 || found[0].Holders[0].Owner != admin.Fingerprint(lease) {
		t.Errorf("Inspect: %+v, %v", found, err)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func (q *queue) killed(t *testing.T) {
	p, handle, token := q.given(t)
	p.Kill()
	lease, err := q.locker.Adopt(t.Context(), handle, distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	q.holds(t, lease, token)

	p, handle, token = q.given(t) // and nobody adopts
	p.Kill()
	next, err := q.locker.Acquire(t.Context(), "order", distlock.Opts{MaxWait: 20 * time.Second})
	if err != nil || next.Token() <= token {
		t.Fatal(err)
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := q.locker.Adopt(t.Context(), handle, distlock.Opts{}); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("a handle of an ended lease: %v", err)
	}
}

func (q *queue) stopped(t *testing.T) {
	p, handle, token := q.given(t)
	p.Stop()
	lease, err := q.locker.Adopt(t.Context(), handle, distlock.Opts{})
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(4 * time.Second) // longer than the giver's lease
	p.Cont()
	p.Tell("look")
	var over, released bool
	if p.Hear("over", &over, &released); !over || !released {
		t.Errorf("Check and Refresh say that the lease is over: %v; Release has no error: %v", over, released)
	}
	q.holds(t, lease, token)
	p.CloseInput()
}

func (q *queue) twice(t *testing.T) {
	lockers := []*distlock.Locker{q.locker, newQueue(t, q.url).locker, newQueue(t, q.url).locker}
	for range 5 {
		p, handle, token := q.given(t)
		leases := make([]*distlock.Lease, len(lockers))
		var all sync.WaitGroup
		for i, l := range lockers {
			all.Go(func() {
				var err error
				if leases[i], err = l.Adopt(t.Context(), handle, distlock.Opts{}); err != nil && !errors.Is(err, distlock.ErrLost) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		won := slices.DeleteFunc(leases, func(l *distlock.Lease) bool { return l == nil })
		if len(won) != 1 {
			t.Fatalf("%d of %d have adopted one handle", len(won), len(lockers))
		}
		if err := errors.Join(won[0].Check(), won[0].Release(t.Context())); err != nil || won[0].Token() != token {
			t.Errorf("token %d, want %d: %v", won[0].Token(), token, err)
		}
		p.Kill()
	}
}
