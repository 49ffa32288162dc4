package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// Other programs have nodes where locks belong.
//
// Row 22 (zklock): nodes that are not locks are skipped, a key's node that cannot have
// children is ErrForeign, and all of them stay. Fails if any name counts as the name of a
// lock.
func TestForeignNodes(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	operator := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("foreign"))) // creates the root

	// The key's node has data and children of another program.
	key := "foreign-" + uuid.NewString() // the nodes stay, and the test may run again
	if _, err := operator.Create(parentOf(key), []byte("data"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	names := []string{"config", "lock-", "lock-x000000000", "locks", "_c_", "zzz"}
	for _, name := range names {
		plant(t, operator, parentOf(key)+"/"+name, 0)
	}
	g := testkit.MustTry(t, b, testkit.NewRequest(key))
	testkit.MustBeBusy(t, other, key)
	testkit.MustRenew(t, b, g)
	testkit.MustRelease(t, b, g)
	testkit.MustRelease(t, other, testkit.MustTry(t, other, testkit.NewRequest(key)))
	left := children(t, operator, parentOf(key))
	slices.Sort(left)
	slices.Sort(names)
	data, _, err := operator.Get(parentOf(key))
	if !slices.Equal(left, names) || string(data) != "data" || err != nil {
		t.Errorf("left are %q of %q, and %q, %v", left, names, data, err)
	}

	// An ephemeral node cannot have children.
	barren := "foreign-" + uuid.NewString()
	if _, err := operator.Create(parentOf(barren), []byte("data"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	locker := distlock.New(newBackend(t, []string{addr}), distlock.Config{})
	_, err = locker.TryAcquire(context.Background(), barren, distlock.Opts{})
	mustBeForeign(t, err)
	testkit.Eventually(t, "it has looked before its context ends", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err = locker.Acquire(ctx, barren, distlock.Opts{RetryInterval: time.Millisecond})
		return errors.Is(err, driver.ErrForeign)
	})
	mustBeForeign(t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait whose context ended: %v", err)
	}
	_, err = locker.Acquire(context.Background(), barren, distlock.Opts{RetryInterval: time.Millisecond, RetryCount: 3})
	mustBeForeign(t, err)

	// Inspect with the exact key shows it, and nothing removes it.
	infos, err := admin.Inspect(context.Background(), locker, barren, 10)
	if err != nil || len(infos) != 1 || infos[0].Foreign != "ephemeral node" || infos[0].Held != 1 {
		t.Errorf("Inspect of the key: %+v, %v", infos, err)
	}
	infos, err = admin.Inspect(context.Background(), locker, barren[:len(barren)-1], 10)
	if err != nil || len(infos) != 0 {
		t.Errorf("Inspect of a prefix: %+v, %v", infos, err)
	}
	if held, err := admin.ForceRelease(context.Background(), locker, barren); held || err != nil {
		t.Errorf("ForceRelease: %v, %v", held, err)
	}
	if err := locker.Close(); err != nil {
		t.Error(err)
	}
	if data, _, err := operator.Get(parentOf(barren)); string(data) != "data" || err != nil {
		t.Errorf("the ephemeral node has %q, %v", data, err)
	}

	// When it is removed, the waiter gets the key.
	w := testkit.StartWaiter(t, b, testkit.NewRequest(barren))
	if err := operator.Delete(parentOf(barren), -1); err != nil {
		t.Fatal(err)
	}
	testkit.MustRelease(t, b, w.Served(t))
}

func mustBeForeign(tb testing.TB, err error) {
	tb.Helper()
	if !errors.Is(err, driver.ErrForeign) || errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), "ephemeral node") {
		tb.Errorf("where another program has an ephemeral node: %v", err)
	}
}
