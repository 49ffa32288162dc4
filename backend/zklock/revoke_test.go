package zklock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func mustBeAsked(tb testing.TB, asked <-chan struct{}) {
	tb.Helper()
	select {
	case <-asked:
	case <-time.After(patience):
		tb.Fatal("the holder is not asked")
	}
}

// TestRevokeIsNotLost: a holder is told of a message that came before it listened, after an
// extension, or without a connection. A process that was asked does not extend its lock.
// Other processes still see the name of the holder.
func TestRevokeIsNotLost(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	other := newBackend(t, []string{addr})
	for name, ask := range map[string]func(t *testing.T, b *zklock.Backend, n *spoilnet.Network, g driver.Grant, revoke func()){
		"before it listens": func(t *testing.T, b *zklock.Backend, _ *spoilnet.Network, g driver.Grant, revoke func()) {
			t.Helper()
			revoke()
			mustBeAsked(t, b.Revoked(context.Background(), g))
		},
		"after an extension": func(t *testing.T, b *zklock.Backend, _ *spoilnet.Network, g driver.Grant, revoke func()) {
			t.Helper()
			asked := b.Revoked(context.Background(), g)
			for range 3 {
				var err error
				if g, err = b.Extend(context.Background(), g, 1); err != nil {
					t.Fatal(err)
				}
			}
			if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
				t.Errorf("renewal: %+v", got)
			}
			select {
			case <-asked:
				t.Error("an extension asks the holder")
			default:
			}
			revoke()
			mustBeAsked(t, asked)
		},
		"without a connection": func(t *testing.T, b *zklock.Backend, n *spoilnet.Network, g driver.Grant, revoke func()) {
			t.Helper()
			reconnects(t)
			asked := b.Revoked(context.Background(), g)
			drain(t, b)
			n.Refuse(true)
			n.Kill()
			revoke()
			n.Refuse(false)
			mustBeAsked(t, asked)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, n := overNetwork(t, addr)
			r := testkit.NewRequest("revoke " + name)
			r.Owner += "@web-3/1432"
			g := testkit.MustTry(t, b, r)
			ask(t, b, n, g, func() {
				if held, err := other.Revoke(context.Background(), g.Key); !held || err != nil {
					t.Errorf("Revoke: %v, %v", held, err)
				}
			})
			for range 2 {
				if _, err := b.Extend(context.Background(), g, 1); !errors.Is(err, driver.ErrNotAcquired) {
					t.Errorf("Extend after the holder was asked: %v", err)
				}
			}
			infos, err := other.Inspect(context.Background(), g.Key, 1)
			if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != "web-3/1432" || infos[0].Holders[0].Owner != driver.Fingerprint(r.Owner) {
				t.Errorf("Inspect: %+v, %v", infos, err)
			}
			if got := testkit.Renewed(t, b, g); got.Status != driver.Renewed {
				t.Errorf("a renewal of the holder, which was only asked: %+v", got)
			}
			testkit.MustRelease(t, b, g)
		})
	}
}
