package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Other programs have nodes where locks belong.
//
// Row 22 (zklock): nodes that are not locks are skipped, a key's node that cannot have
// children is ErrForeign, and all of them stay. Fails if any name counts as the name of
// a lock.
func TestForeignNodes(t *testing.T) { onBoth(t, foreignNodes) }

func foreignNodes(t *testing.T, b *zklock.Backend, operator *zk.Conn, _ func(path string) bool) {
	// The key's node has children of another program.
	key := "foreign-" + uuid.NewString() // the nodes stay, and the test may run again
	keepParent(t, operator, key)
	names := []string{"_c_", "config", "lock-", "lock-x000000000", "locks", "zzz"}
	for _, name := range names {
		plant(t, operator, parentOf(key)+"/"+name, 0)
	}
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	testkit.MustBeBusy(t, b, key)
	testkit.MustRenew(t, b, g)
	testkit.MustRelease(t, b, g)
	left := children(t, operator, parentOf(key))
	if slices.Sort(left); !slices.Equal(left, names) {
		t.Errorf("left are %q of %q", left, names)
	}

	// An ephemeral node cannot have children. When it is removed, a waiter gets the
	// key.
	barren := "foreign-" + uuid.NewString()
	plant(t, operator, parentOf(barren), zk.FlagEphemeral)
	locker := testkit.NewLocker(t, b, distlock.Config{})
	_, err := locker.TryAcquire(t.Context(), barren, distlock.Opts{})
	wantForeign(t, err, "ephemeral node")
	testkit.Eventually(t, "it has looked before its context ends", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = locker.Acquire(ctx, barren, distlock.Opts{RetryInterval: time.Millisecond})
		return errors.Is(err, driver.ErrForeign) && errors.Is(err, context.DeadlineExceeded)
	})
	wantForeign(t, err, "ephemeral node")
	infos, err := b.Inspect(t.Context(), barren, 10)
	if err != nil || len(infos) != 1 || infos[0].Foreign != "ephemeral node" || infos[0].Held != 1 {
		t.Errorf("Inspect of the key: %+v, %v", infos, err)
	}
	if held, err := b.ForceRelease(t.Context(), barren); held || err != nil {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	w := testkit.StartWaiter(t, b, testkit.NewRequest(barren))
	if err := operator.Delete(parentOf(barren), -1); err != nil {
		t.Fatal(err)
	}
	testkit.MustRelease(t, b, w.Served(t))
}
