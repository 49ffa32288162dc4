package backendurl_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

// etcdClient returns a client that ends with the test.
func etcdClient(t *testing.T, addr string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEtcd(t *testing.T) {
	t.Parallel()
	addr := etcdtest.Start(t).Addr()
	for _, rawURL := range []string{
		"etcd://" + addr,
		"etcd://" + addr + "/",
		"ETCD://" + addr + "/shop/locks/",
		"etcd://user:not%40needed@" + addr,
		"etcd://" + withTLS(t, addr, "h2") + "/shop?tls=skip-verify",
	} {
		use(t, rawURL)
	}

	for prefix, want := range map[string]int{"shop/": 1, "distlock/": 0, "": 0} {
		other, err := etcdlock.New(etcdClient(t, addr), etcdlock.WithPrefix(prefix))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		mustBeBelow(t, "etcd://"+addr+"/shop", prefix, other, want)
	}
}

// A server with users lets in the one that the URL names.
func TestEtcdUsers(t *testing.T) {
	t.Parallel()
	addr := etcdtest.Start(t).Addr()
	c := etcdClient(t, addr)
	for _, step := range []func() error{
		func() error { _, err := c.RoleAdd(t.Context(), "root"); return err },
		func() error { _, err := c.UserAdd(t.Context(), "root", "p@ss"); return err },
		func() error { _, err := c.UserGrantRole(t.Context(), "root", "root"); return err },
		func() error { _, err := c.AuthEnable(t.Context()); return err },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	use(t, "etcd://root:p%40ss@"+addr)
	refused(t, "etcd://root:secret@"+addr, "user")
	refused(t, "etcd://"+addr, "user")
}
