package httpmw_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// slowClient is a client that sends a request when it is told to, and no faster.
type slowClient struct{ net.Conn }

func dial(t *testing.T, srv *httptest.Server) slowClient {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return slowClient{c}
}

func (c slowClient) send(t *testing.T, part string) {
	t.Helper()
	if _, err := io.WriteString(c, part); err != nil {
		t.Fatal(err)
	}
}

func (c slowClient) status(t *testing.T) string {
	t.Helper()
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// TestSlowClientsHoldNothingUp has many clients with a connection each send the head of a
// request for one key, and single bytes of the body now and then. Quick clients still get
// the lock. The slow ones are served when they have sent everything; if one leaves
// instead, nothing is left of it.
func TestSlowClientsHoldNothingUp(t *testing.T) {
	const crowd = 30
	for name, lock := range map[string]func(*distlock.Locker) func(http.Handler) http.Handler{
		"WithBodyFirst": func(l *distlock.Locker) func(http.Handler) http.Handler {
			return httpmw.Lock(l, httpmw.Header("ID"), opts(), httpmw.WithBodyFirst(100))
		},
		"JSONField": func(l *distlock.Locker) func(http.Handler) http.Handler {
			return httpmw.Lock(l, httpmw.JSONField("id", 0), opts())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.NewStore()
			began := make(chan bool, 2*crowd+1000)
			served := make(chan string, 2*crowd+1000)
			h := lock(testkit.NewLocker(t, s, distlock.Config{}))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				served <- string(body)
			}))
			srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				began <- true
				h.ServeHTTP(w, r)
			}))
			const body = `{"id":"7"}`
			head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: shop\r\nID: 7\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(body))
			var slow []slowClient
			for range crowd {
				c := dial(t, srv)
				c.send(t, head)
				slow = append(slow, c)
				<-began
			}
			for sent := range len(body) - 1 {
				for _, c := range slow {
					c.send(t, body[sent:sent+1])
				}
				for range 3 {
					if got := send(t, srv, "POST", "/", body, "ID", "7"); got.status != http.StatusOK {
						t.Fatalf("with %d bytes of the slow sent, the quick: %d %s", sent+1, got.status, got.body)
					}
					if got := <-served; got != body {
						t.Errorf("served %q", got)
					}
				}
			}
			if len(served) != 0 {
				t.Errorf("a slow one was served: %q", <-served)
			}
			for i, c := range slow {
				if i%2 == 0 {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
					continue
				}
				c.send(t, body[len(body)-1:])
				if got := c.status(t); got != "HTTP/1.1 200 OK" {
					t.Errorf("slow one %d: %s", i, got)
				}
				if got := <-served; got != body {
					t.Errorf("served %q", got)
				}
			}
			srv.Close() // waits for the clients that have left
			if len(served) != 0 || !s.Free(t, keyOf(t, "7")) {
				t.Errorf("%d were served who have left; the lock is free: %t", len(served), s.Free(t, keyOf(t, "7")))
			}
		})
	}
}
