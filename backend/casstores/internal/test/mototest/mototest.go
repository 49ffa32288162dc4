// Package mototest starts moto, an emulator of AWS, for tests.
package mototest

import (
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/locktest"
)

// script serves moto. It answers one request at a time: otherwise its conditional writes are not
// atomic. A request that does not arrive as a whole keeps none out. Connections stay, which
// werkzeug itself does not allow.
const script = `
import io, sys, threading
from werkzeug.serving import run_simple, WSGIRequestHandler
from werkzeug.test import run_wsgi_app
from moto.server import DomainDispatcherApplication, create_backend_app
app, one = DomainDispatcherApplication(create_backend_app), threading.Lock()
class Handler(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"
    def run_wsgi(self):
        env = self.make_environ()
        env["wsgi.input"] = io.BytesIO(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        with one:
            answer, status, headers = run_wsgi_app(app, env, buffered=True)
        body = b"".join(answer)
        headers["Content-Length"] = headers.get("Content-Length", len(body))
        self.send_response(int(status[:3]))
        for name, value in headers.items():
            self.send_header(name, value)
        self._headers_buffer += [b"\r\n", body if self.command != "HEAD" else b""]
        self.flush_headers()  # in one packet
    def log_request(self, *a): pass
run_simple("127.0.0.1", int(sys.argv[1]), None, threaded=True, request_handler=Handler)`

// Start starts moto and returns its URL.
func Start(t *testing.T) string {
	t.Helper()
	python, err := child.LookPath("python3", "needs python3 in PATH, with moto[server]")
	if err == nil {
		err = exec.CommandContext(t.Context(), python, "-c", "import moto.server, flask").Run() //nolint:gosec // a test
	}
	child.Need(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(python, "-c", script, port) //nolint:gosec // a test
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	testkit.Eventually(t, "moto listens", func() bool {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return "http://" + addr
}

// Client returns a client whose connections are opened by n.
func Client(n *locktest.Network) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: n.DialContext, MaxIdleConnsPerHost: 100}}
}

// Conform runs the suite. open returns a backend whose client is that of [Client], and drop
// deletes a cell.
func Conform(t *testing.T, open func(n *locktest.Network) driver.Backend, drop func(t *testing.T, key string) error) {
	t.Helper()
	locktest.Run(t, func(*testing.T) driver.Backend { return open(new(locktest.Network)) }, locktest.Features{
		Lease: time.Second,
		Over:  func(_ *testing.T, _ driver.Backend, n *locktest.Network) driver.Backend { return open(n) },
		Drop: func(t *testing.T, _ driver.Backend, key string) {
			if err := drop(t, key); err != nil {
				t.Fatal(err)
			}
		},
	})
}
