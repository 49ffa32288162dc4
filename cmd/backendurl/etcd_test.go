package backendurl_test

import (
	"context"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/cmd/backendurl"
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

	b, err := backendurl.Open(t.Context(), "etcd://"+addr+"/shop")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	l := distlock.New(b.Backend, distlock.Config{})
	defer l.Close()
	err = l.Do(t.Context(), "tea", distlock.Opts{}, func(ctx context.Context) error {
		for prefix, want := range map[string]int{"shop/": 1, "distlock/": 0, "": 0} {
			other, err := etcdlock.New(etcdClient(t, addr), etcdlock.WithPrefix(prefix))
			if err != nil {
				return err
			}
			found, err := other.Inspect(ctx, "tea", 10)
			if err != nil || len(found) != want {
				t.Errorf("below %s: %+v, %v", prefix, found, err)
			}
			if err := other.Close(); err != nil {
				t.Error(err)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
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
	for _, user := range []string{"root:wrong@", ""} {
		b, err := backendurl.Open(t.Context(), "etcd://"+user+addr)
		if b != nil || err == nil || strings.Contains(err.Error(), "wrong") || !strings.Contains(err.Error(), "user") {
			t.Errorf("as %q: %v, %v", user, b, err)
		}
	}
}
