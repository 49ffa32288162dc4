package zklock_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestTLS connects with TLS, through WithDialer, to a proxy in front of a server without
// TLS.
func TestTLS(t *testing.T) {
	t.Parallel()
	target := shared.Server(t).Addr()
	known := httptest.NewTLSServer(nil) // for its certificate and a client that trusts it
	t.Cleanup(known.Close)
	trust := known.Client().Transport.(*http.Transport).TLSClientConfig

	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: known.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	var proxies sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		proxies.Wait()
	})
	proxies.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			proxies.Go(func() { proxy(c, target) })
		}
	})

	b := newBackend(t, []string{l.Addr().String()}, zklock.WithDialer(func(network, addr string, timeout time.Duration) (net.Conn, error) {
		return tls.DialWithDialer(&net.Dialer{Timeout: timeout}, network, addr, trust)
	}))
	g := testkit.MustTry(t, b, testkit.NewRequest("over tls"))
	testkit.MustBeBusy(t, newBackend(t, []string{target}), "over tls")
	testkit.MustRelease(t, b, g)
}

// proxy copies between c and the target until one of them is closed.
func proxy(c net.Conn, target string) {
	defer c.Close()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, c)
		_ = server.Close()
	}()
	_, _ = io.Copy(c, server)
}
