package zklock_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/zktest"
)

// A user lacks one permission: Ping refuses it, too.
//
// Row 17 (zklock): the error names the permission that is missing, and no lock is
// granted that cannot be given back. Fails if only the answer of the leader is tried.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	addr := []string{zktest.Shared(t).Addr()}
	for perm, want := range map[int32]string{
		zk.PermCreate: "no permission to create ", zk.PermRead: "no permission to read ",
		zk.PermWrite: "no permission to write ", zk.PermDelete: "no permission to delete in ",
	} {
		t.Run(strings.Fields(want)[3], func(t *testing.T) {
			t.Parallel()
			root := "/lacks-" + uuid.NewString()
			b := newBackend(t, addr, zklock.Config{Root: root, User: "shop", Password: "secret",
				ACL: zk.DigestACL(zk.PermAll&^perm, "shop", "secret")})
			for range 2 {
				_, err := b.TryAcquire(t.Context(), testkit.NewRequest("key"))
				mustLack(t, err, want+`"`+root)
				mustLack(t, b.Ping(t.Context()), want+`"`+root)
			}
		})
	}

	// The root does not exist, and the user may not create it.
	admin := newAdmin(t, addr...)
	above := "/closed-" + uuid.NewString()
	if _, err := admin.Create(above, nil, 0, zk.WorldACL(zk.PermRead|zk.PermAdmin)); err != nil {
		t.Fatal(err)
	}
	root := above + "/locks"
	want := `no permission to create "` + root + `"`
	b := newBackend(t, addr, zklock.Config{Root: root})
	mustLack(t, b.Ping(t.Context()), want)
	_, err := b.TryAcquire(t.Context(), testkit.NewRequest("key"))
	mustLack(t, err, want)
}

func mustLack(tb testing.TB, err error, want string) {
	tb.Helper()
	if !errors.Is(err, zk.ErrNoAuth) || errors.Is(err, driver.ErrNotAcquired) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "see Config.") {
		tb.Errorf("%v, want %s", err, want)
	}
}

// TestTrialIsMadeOnce: the first Ping creates a node and deletes it, and later calls do
// not.
func TestTrialIsMadeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(t, new(fakeServer))
		for range 2 {
			if err := v.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			mustWork(t, v.Backend, "key")
		}
		if all, left := v.server.Created(parentOf("")), v.server.Children(parentOf("")); len(all) != 1 || len(left) != 0 {
			t.Errorf("created %q, left %q", all, left)
		}
	})
}
