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
	all := map[string]struct{ op, perm int32 }{
		"create": {opContainer, zk.PermCreate}, "read": {opGetChildren, zk.PermRead},
		"write": {opSetData, zk.PermWrite}, "delete in": {opDelete, zk.PermDelete},
	}
	lacks := func(t *testing.T, b *zklock.Backend, want string) {
		t.Helper()
		for range 2 {
			_, err := b.TryAcquire(t.Context(), testkit.NewRequest("key"))
			mustLack(t, err, "no permission to "+want)
			mustLack(t, b.Ping(t.Context()), "no permission to "+want)
		}
	}
	for name, c := range all {
		synctest.Test(t, func(t *testing.T) {
			server := new(fakeServer)
			server.On(c.op, func(string) fate { return denied })
			lacks(t, newVirtual(t, server).Backend, name+` "/distlock`)
			if n := len(server.Children(parentOf(""))); n > 1 {
				t.Errorf("without the permission to %s, %d nodes are left", name, n)
			}
		})
	}
	addr := []string{zktest.Shared(t).Addr()}
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := "/lacks-" + uuid.NewString()
			b := newBackend(t, addr, zklock.Config{Root: root, User: "shop", Password: "secret",
				ACL: zk.DigestACL(zk.PermAll&^c.perm, "shop", "secret")})
			lacks(t, b, name+` "`+root)
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
