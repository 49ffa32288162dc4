package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/etcdtest"
	"github.com/distlock-go/distlock/internal/testkit"
)

// checkError checks an error that says nothing about the key.
func checkError(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, without %q", what, err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: more than one line: %q", what, err)
	}
}

// calls makes each call that needs the server.
func calls(ctx context.Context, b *etcdlock.Backend, key string) map[string]error {
	r := testkit.NewRequest(key)
	_, try := b.TryAcquire(ctx, r)
	_, acquire := b.Acquire(ctx, testkit.NewRequest(key))
	_, inspect := b.Inspect(ctx, "", 1)
	_, force := b.ForceRelease(ctx, key)
	return map[string]error{
		"TryAcquire": try, "Acquire": acquire, "Inspect": inspect, "ForceRelease": force,
		"Ping": b.Ping(ctx), "Release": b.Release(ctx, testkit.NewRequest(key).Grant()),
	}
}

// If no server listens, each call says so, with the address and the cause.
func TestNoServer(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1"
	b := newBackend(t, newClient(t, addr), etcdlock.WithOpTimeout(100*time.Millisecond))
	for name, err := range calls(context.Background(), b, t.Name()) {
		checkError(t, name, err, "etcdlock: "+addr+": ", "connection refused")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := b.TryAcquire(ctx, testkit.NewRequest(t.Name()))
	checkError(t, "TryAcquire with a short deadline", err, "etcdlock: "+addr+": ", "connection refused")
}

// If the server hangs, each call says how long it has waited.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	b := newBackend(t, newClient(t, s.Addr()), etcdlock.WithOpTimeout(300*time.Millisecond))
	testkit.Eventually(t, "the server answers", func() bool { return b.Ping(context.Background()) == nil })
	s.Stop(t)
	defer s.Cont(t)
	for name, err := range calls(context.Background(), b, t.Name()) {
		checkError(t, name, err, "etcdlock: "+s.Addr()+": ", "no answer within 300ms")
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared.Server(t).Addr())
	b := newBackend(t, c)
	g := testkit.MustTry(t, b, testkit.NewRequest(t.Name()))
	w := startWaiter(t, b, c, testkit.NewRequest(t.Name()))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	<-w.Done
	checkError(t, "Acquire that waits", w.Err, "etcdlock: the Backend is closed")
	_, err := b.TryAcquire(context.Background(), testkit.NewRequest(t.Name()))
	checkError(t, "TryAcquire", err, "etcdlock: the Backend is closed")
	checkError(t, "Release", b.Release(context.Background(), g), "etcdlock: the Backend is closed")
	if left := places(t, c, g.Key); len(left) > 0 {
		t.Errorf("left in etcd: %q", left)
	}
	if fences, err := c.Get(context.Background(), etcdlock.FenceOf(b), clientv3.WithCountOnly()); err != nil || fences.Count > 0 {
		t.Errorf("the fence is left in etcd: %v", err)
	}
}

// A user of etcd needs the permission to read and write below the prefix, and no other.
func TestPermissions(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	ctx := context.Background()
	root := newClient(t, s.Addr())
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(root.RoleAdd(ctx, "root"))
	must(root.UserAdd(ctx, "root", "secret"))
	must(root.UserGrantRole(ctx, "root", "root"))
	must(root.RoleAdd(ctx, "locks"))
	must(root.RoleGrantPermission(ctx, "locks", "shop/", clientv3.GetPrefixRangeEnd("shop/"), clientv3.PermissionType(clientv3.PermReadWrite)))
	must(root.UserAdd(ctx, "app", "secret"))
	must(root.UserGrantRole(ctx, "app", "locks"))
	must(root.AuthEnable(ctx))
	open := func(user string) *clientv3.Client {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr()}, Username: user, Password: "secret", Logger: zap.NewNop()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	app := open("app")
	b := newBackend(t, app, etcdlock.WithPrefix("shop/"))
	if err := b.Ping(ctx); err != nil {
		t.Errorf("Ping: %v", err)
	}
	g := testkit.MustTry(t, b, testkit.NewRequest("order"))
	if r := testkit.Renewed(t, b, g); r.Status != driver.Renewed {
		t.Errorf("renewal: %v, %v", r.Status, r.Err)
	}
	w := make(chan driver.Grant, 1)
	go func() {
		next, err := b.Acquire(ctx, testkit.NewRequest("order"))
		if err != nil {
			t.Errorf("Acquire: %v", err)
		}
		w <- next
	}()
	testkit.Eventually(t, "the waiter has a place", func() bool {
		infos, err := b.Inspect(ctx, "order", 1)
		return err == nil && len(infos) == 1 && infos[0].Waiting == 1
	})
	testkit.MustRelease(t, b, g)
	testkit.MustRelease(t, b, <-w)
	denied := newBackend(t, app, etcdlock.WithPrefix("other/"))
	_, err := denied.TryAcquire(ctx, testkit.NewRequest("order"))
	checkError(t, "TryAcquire outside of the prefix", err, "etcdlock: "+s.Addr()+": ", "permission denied")
	anonymous := newBackend(t, newClient(t, s.Addr()), etcdlock.WithPrefix("shop/"))
	_, err = anonymous.TryAcquire(ctx, testkit.NewRequest("order"))
	checkError(t, "TryAcquire without a user", err, "etcdlock: "+s.Addr()+": ", "user name is empty")
}
