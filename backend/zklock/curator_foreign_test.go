package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestCuratorForeign: Curator has recipes that do not see the nodes of this package. Their
// locks are refused. If such a recipe gets its lock while a holder has the key, the holder
// loses the key at its next renewal.
func TestCuratorForeign(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	c := startCurator(t, addr)
	admin := newAdmin(t, addr)
	const (
		mutex     = "InterProcessMutex"
		readWrite = "InterProcessReadWriteLock"
	)
	readWriteNames := []zklock.Option{zklock.WithReadWriteNames()}
	for _, tc := range []struct {
		ours    string
		opts    []zklock.Option
		sharing driver.Sharing
		theirs  string // the kind for Curator.java
		recipe  string
	}{
		{"mutex names", nil, driver.Sharing{}, "write", readWrite},
		{"mutex names", nil, driver.Sharing{}, "read", readWrite},
		{"mutex names", nil, driver.Sharing{}, "latch", "LeaderLatch"},
		{"mutex names", nil, driver.Sharing{}, "semaphore", "InterProcessSemaphoreV2"},
		{"read-write names", readWriteNames, driver.Sharing{}, "mutex", mutex},
		{"read-write names", readWriteNames, driver.Sharing{}, "selector", mutex},
		{"latch names", []zklock.Option{zklock.WithLatchNames()}, driver.Sharing{}, "mutex", mutex},
		{"shared", nil, driver.Sharing{Mode: driver.Shared}, "mutex", mutex},
		{"permits", nil, driver.Sharing{Permits: 2}, "mutex", mutex},
		{"permits", nil, driver.Sharing{Permits: 2}, "write", readWrite},
	} {
		for _, learned := range []bool{false, true} {
			name := tc.ours + "/" + tc.theirs
			if learned {
				name += "/learned"
			}
			t.Run(name, func(t *testing.T) {
				key := t.Name() + uuid.NewString() // some nodes stay for a while
				path := parentOf(key)
				has := func(t *testing.T, owner string) bool {
					t.Helper()
					return strings.Contains(strings.Join(children(t, admin, path), " "), owner)
				}
				b, _, requests := counted(t, addr, tc.opts...)
				if learned { // it does not read the queue any more
					learn(t, b, requests, admin, key)
				}
				r := testkit.NewRequest(key)
				r.Mode, r.Permits = tc.sharing.Mode, tc.sharing.Permits

				// This package comes first.
				g := testkit.MustTry(t, b, r)
				if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
					t.Errorf("renewal before Curator comes: %+v", got)
				}
				c.must("true", "acquire", tc.theirs, path)
				got := testkit.Renewed(t, b, g)
				if got.Status != driver.Lost {
					t.Errorf("renewal after Curator has come: %+v", got)
				}
				wantForeign(t, got.Err, tc.recipe)
				testkit.Eventually(t, "the node of the former holder is deleted", func() bool { return !has(t, g.Owner) })
				if err := b.Release(context.Background(), g); !errors.Is(err, driver.ErrLost) {
					t.Errorf("Release after that: %v", err)
				}

				// Now Curator has come first.
				r.Owner = testkit.NewRequest(key).Owner
				_, err := b.TryAcquire(context.Background(), r)
				wantForeign(t, err, tc.recipe)
				r.Backoff = driver.NewBackoff(1, 2)
				r.Owner = testkit.NewRequest(key).Owner
				_, err = b.Acquire(context.Background(), r)
				wantForeign(t, err, tc.recipe)
				if err := b.Release(context.Background(), r.Grant()); err != nil {
					t.Errorf("Release of what was refused: %v", err)
				}
				if has(t, r.Owner) {
					t.Error("the refused owner still has its node")
				}
				if tc.theirs == "semaphore" {
					return // its nodes stay for a while
				}
				r.Owner, r.Backoff = testkit.NewRequest(key).Owner, nil
				w := testkit.StartWaiter(t, b, r)
				watched(t, path+"/")
				c.must("released", "release", tc.theirs, path)
				testkit.MustRelease(t, b, w.Served(t))
			})
		}
	}

	t.Run("cause", func(t *testing.T) {
		locker := distlock.New(newBackend(t, []string{addr}), distlock.Config{})
		const key = "curator-cause"
		lease, err := locker.Acquire(context.Background(), key, distlock.Opts{})
		if err != nil {
			t.Fatal(err)
		}
		c.must("true", "acquire", "write", parentOf(key))
		if err := lease.Refresh(context.Background()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("Refresh: %v", err)
		}
		<-lease.Context().Done()
		cause := context.Cause(lease.Context())
		if !errors.Is(cause, distlock.ErrLost) || errors.Is(cause, distlock.ErrNotAcquired) || !strings.Contains(cause.Error(), readWrite) {
			t.Errorf("the lease was lost: %v", cause)
		}
		if err := lease.Release(context.Background()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("Release: %v", err)
		}
		_, err = locker.TryAcquire(context.Background(), key, distlock.Opts{})
		wantForeign(t, err, readWrite)
		c.must("released", "release", "write", parentOf(key))
		if err := locker.Close(); err != nil {
			t.Error(err)
		}
	})
}

func wantForeign(tb testing.TB, err error, recipe string) {
	tb.Helper()
	if !errors.Is(err, driver.ErrForeign) || errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), recipe) {
		tb.Errorf("where %s has a lock: %v", recipe, err)
	}
}

// TestCuratorCandidates: the candidates of LeaderSelector and this package elect one
// leader. With WithLatchNames, so do those of LeaderLatch.
func TestCuratorCandidates(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	addr := shared.Server(t).Addr()
	c := startCurator(t, addr)
	admin := newAdmin(t, addr)
	for _, tc := range []struct {
		kind string
		opts []zklock.Option
	}{
		{"selector", nil},
		{"latch", []zklock.Option{zklock.WithLatchNames()}},
	} {
		for _, lead := range []bool{false, true} {
			name := tc.kind + "/Acquire"
			if lead {
				name = tc.kind + "/Lead"
			}
			t.Run(name, func(t *testing.T) {
				locker := distlock.New(newBackend(t, []string{addr}, tc.opts...), distlock.Config{})
				key := "candidates/" + t.Name()
				path := parentOf(key)
				waiting := func(n int) {
					t.Helper()
					testkit.Eventually(t, "the candidate waits", func() bool { return len(children(t, admin, path)) == n })
				}

				// Curator leads, this package follows, and after it Curator again.
				c.must("true", "acquire", tc.kind, path)
				if _, err := locker.TryAcquire(context.Background(), key, distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, distlock.ErrForeign) {
					t.Errorf("while Curator leads: %v", err)
				}
				leads, resign, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				term := func(context.Context) error {
					close(leads)
					<-resign
					return errResigned
				}
				go func() {
					if lead {
						done <- locker.Lead(context.Background(), key, distlock.Opts{}, term)
						return
					}
					lease, err := locker.Acquire(context.Background(), key, distlock.Opts{})
					if err == nil {
						err = errors.Join(term(lease.Context()), lease.Release(context.Background()))
					}
					done <- err
				}()
				waiting(2)
				c.must("released", "release", tc.kind, path)
				<-leads
				waiting(1)
				second := tc.kind + "2" // a candidate cannot be used again
				c.send("acquire", second, path)
				waiting(2)
				close(resign)
				if err := <-done; !errors.Is(err, errResigned) || errors.Is(err, distlock.ErrLost) {
					t.Errorf("the leader of this package: %v", err)
				}
				if got := c.answer(); got != "true" {
					t.Errorf("Curator's second candidate: %s", got)
				}
				c.must("released", "release", second, path)
				if err := locker.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

var errResigned = errors.New("resigned")
