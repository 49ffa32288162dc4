package kubelock_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock/backend/casstores/kubelock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/kubetest"
	"github.com/distlock-go/distlock/internal/test/testmode"
	"github.com/distlock-go/distlock/locktest"
)

func TestMain(m *testing.M) {
	kubelock.SweepOne(1 << 20) // requests beside those that a case counts
	goleak.VerifyTestMain(m)
}

// open returns a backend whose connections dial opens.
func open(t *testing.T, dial func(ctx context.Context, network, addr string) (net.Conn, error)) driver.Backend {
	c := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 100}}
	t.Cleanup(c.CloseIdleConnections)
	return kubelock.New(c, kubelock.Config{Server: "http://double", Namespace: "shop"})
}

// The suite in virtual time.
func TestConformance(t *testing.T) {
	var d *kubetest.Double
	over := func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend { return open(t, n.To(d.Dial)) }
	locktest.Run(t, func(t *testing.T) driver.Backend {
		d = kubetest.NewDouble(t)
		return over(t, nil, new(locktest.Network))
	}, locktest.Features{
		Bubble: true,
		Over:   over,
		Drop:   func(_ *testing.T, _ driver.Backend, key string) { d.Drop(key) },
	})
}

// The suite on a real API server, as in a pod.
func TestConformanceReal(t *testing.T) {
	testmode.Long(t)
	s := kubetest.Start(t)
	podOf(t, s.Addr(), s.CA(t), "shop")
	over := func(t *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend {
		c, cfg, err := kubelock.InPod()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.CloseIdleConnections)
		kubelock.TransportOf(c).DialContext = n.DialContext
		return kubelock.New(c, cfg)
	}
	locktest.Run(t, func(t *testing.T) driver.Backend { return over(t, nil, new(locktest.Network)) }, locktest.Features{
		Lease: time.Second,
		Over:  over,
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			s.Do(t, "DELETE", "/apis/coordination.k8s.io/v1/namespaces/shop/leases/"+kubelock.NameOf(key), "")
		},
	})
}
