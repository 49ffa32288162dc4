// Package mototest starts moto, an emulator of AWS, for tests.
package mototest

import (
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/locktest"
)

// script serves moto. It answers one request at a time: otherwise its conditional writes are not
// atomic. A request that does not arrive as a whole keeps none out. Connections stay, which
// werkzeug itself does not allow. The bucket locks and the table locks exist from the start.
const script = `
import io, sys, threading
from werkzeug.serving import run_simple, WSGIRequestHandler
from werkzeug.test import Client, run_wsgi_app
from moto.server import DomainDispatcherApplication, create_backend_app
app, one = DomainDispatcherApplication(create_backend_app), threading.Lock()
Client(app).put("/locks")
Client(app).post("/", content_type="application/x-amz-json-1.0", headers={"X-Amz-Target": "DynamoDB_20120810.CreateTable",
    "Authorization": "AWS4-HMAC-SHA256 Credential=x/x/us-east-1/dynamodb/x"}, data="""{"TableName": "locks", "BillingMode": "PAY_PER_REQUEST",
    "AttributeDefinitions": [{"AttributeName": "k", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "k", "KeyType": "HASH"}]}""")
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

// newServer returns a server that is not started.
func newServer() *child.Server {
	s := &child.Server{Name: "moto", Ports: make([]int, 1)}
	s.Command = func() (*exec.Cmd, error) {
		const needs = "needs python3 in PATH, with moto[server]"
		python, err := child.LookPath("python3", needs)
		if err != nil {
			return nil, err
		}
		if err := exec.Command(python, "-c", "import moto.server, flask").Run(); err != nil { //nolint:gosec // a test
			return nil, child.Missing(needs, err)
		}
		return exec.Command(python, "-c", script, strconv.Itoa(s.Ports[0])), nil //nolint:gosec // a test
	}
	s.Ready = func() bool {
		c, err := net.DialTimeout("tcp", s.Addr(), time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}
	return s
}

// Start starts moto for a test, and returns its URL.
func Start(t *testing.T) string {
	t.Helper()
	s := newServer()
	child.Run(t, s)
	return "http://" + s.Addr()
}

// Launch is [Start] for a server that the caller has to kill.
func Launch() (*child.Server, error) {
	s := newServer()
	return s, child.Launch(s)
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
