package backendurl_test

import (
	"io"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
)

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

	store, _ := connect(t, "etcd://"+addr)
	client, _ := store.Client.(*clientv3.Client)
	for prefix, want := range map[string]int{"shop/": 1, "distlock/": 0} {
		other, err := etcdlock.New(client, etcdlock.Config{Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.(io.Closer).Close() })
		mustFind(t, "etcd://"+addr+"/shop", other.(driver.Inspector), want)
	}
}
