package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/etcdtest"
)

// TestRoleSuffices checks that a user needs no more than a role that may read and write the
// keys below the prefix, and that a user without it gets the server's words.
func TestRoleSuffices(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	addr := etcdtest.Start(t).Addr()
	admin := newClient(t, addr)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func(user, role string) {
		_, err := admin.UserAdd(ctx, user, "secret")
		must(err)
		_, err = admin.RoleAdd(ctx, role)
		must(err)
		_, err = admin.UserGrantRole(ctx, user, role)
		must(err)
	}
	add("root", "root")
	add("shop", "locks")
	add("guest", "nothing")
	_, err := admin.RoleGrantPermission(ctx, "locks", etcdlock.DefaultPrefix, clientv3.GetPrefixRangeEnd(etcdlock.DefaultPrefix), clientv3.PermissionType(clientv3.PermReadWrite))
	must(err)
	_, err = admin.AuthEnable(ctx)
	must(err)

	lockerOf := func(user string) *distlock.Locker {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Username: user, Password: "secret", Logger: zap.NewNop()})
		must(err)
		t.Cleanup(func() { _ = c.Close() })
		locker := distlock.New(newBackend(t, c), distlock.Config{})
		t.Cleanup(func() { _ = locker.Close() })
		return locker
	}
	shop := lockerOf("shop")
	must(shop.Ping(ctx))
	must(shop.Do(ctx, "report", distlock.Opts{}, func(ctx context.Context) error {
		lease, _ := distlock.FromContext(ctx)
		if err := lease.Refresh(ctx); err != nil {
			return err
		}
		locks, err := shop.Inspect(ctx, "", 10)
		if err == nil && len(locks) != 1 {
			t.Errorf("Inspect: %+v", locks)
		}
		if _, err := shop.TryAcquire(context.Background(), "report", distlock.Opts{}); !errors.Is(err, distlock.ErrNotAcquired) {
			t.Errorf("TryAcquire of a held key: %v", err)
		}
		return err
	}))
	must(shop.DoAll(ctx, []string{"a", "b"}, distlock.Opts{Mode: distlock.Shared}, func(context.Context) error { return nil }))

	_, err = lockerOf("guest").TryAcquire(ctx, "report", distlock.Opts{})
	if !errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("TryAcquire without the role: %v", err)
	}
}
