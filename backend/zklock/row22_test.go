package zklock_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock"
)

// TestRow22ForeignNodes finds nodes of others where locks are. Those in the line
// that are no locks are passed over, a node that cannot have a line is an error,
// and all of them stay.
//
// Row 22 (zklock): what is no lock is passed over, a node that can have no line is an
// error, and all of it stays. Fails if a name that is not a lock's counts as one.
func TestRow22ForeignNodes(t *testing.T) {
	t.Parallel()
	addr := sharedServer(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	mustRelease(t, b, mustTry(t, b, request("foreign"))) // the root is there

	// Data at the node of the key, and children that others have put there.
	key := "foreign-" + uuid.NewString() // they stay, and the test may run again
	if _, err := admin.Create(parentOf(key), []byte("data"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	names := []string{"config", "lock-", "lock-x000000000", "locks", "_c_", "zzz"}
	for _, name := range names {
		plant(t, admin, parentOf(key)+"/"+name, 0)
	}
	g := mustTry(t, b, request(key))
	mustBeBusy(t, other, key)
	if got := renewed(t, b, g); got.Status != distlock.Renewed {
		t.Errorf("renewal: %v", got)
	}
	mustRelease(t, b, g)
	mustRelease(t, other, mustTry(t, other, request(key)))
	left := children(t, admin, parentOf(key))
	slices.Sort(left)
	slices.Sort(names)
	data, _, err := admin.Get(parentOf(key))
	if !slices.Equal(left, names) || string(data) != "data" || err != nil {
		t.Errorf("left are %q of %q, and %q, %v", left, names, data, err)
	}

	// An ephemeral node has no children.
	barren := "foreign-" + uuid.NewString()
	if _, err := admin.Create(parentOf(barren), []byte("data"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	locker := distlock.New(newBackend(t, []string{addr}), distlock.Config{})
	_, err = locker.TryAcquire(context.Background(), barren, distlock.Opts{})
	if !errors.Is(err, distlock.ErrUnavailable) || errors.Is(err, distlock.ErrNotAcquired) || !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		t.Errorf("TryAcquire below an ephemeral node: %v", err)
	}
	if err := locker.Close(); err != nil {
		t.Error(err)
	}
	if data, _, err := admin.Get(parentOf(barren)); string(data) != "data" || err != nil {
		t.Errorf("the ephemeral node has %q, %v", data, err)
	}
}
