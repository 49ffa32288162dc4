package httpmw_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/testkit"
)

// TestAFloodOfStrangersKeys sends thousands of requests for new keys while the first
// requests hold theirs. Requests above MaxKeys are refused without a request to the
// store, and afterwards nothing is left.
func TestAFloodOfStrangersKeys(t *testing.T) {
	const maxKeys, strangers = 20, 2000
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{MaxKeys: maxKeys})
	inside, leave := make(chan bool), make(chan bool)
	lock := httpmw.Lock(l, httpmw.Query("id"), opts())
	slow := lock(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		inside <- true
		<-leave
		w.WriteHeader(http.StatusNoContent)
	}))
	var all sync.WaitGroup
	for i := range maxKeys {
		all.Go(func() {
			if got := record(slow, httptest.NewRequest("GET", "/?id=in"+strconv.Itoa(i), nil)); got.status != http.StatusNoContent {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
		<-inside
	}

	refused := lock(never(t))
	var crowd sync.WaitGroup
	for w := range 8 {
		crowd.Go(func() {
			for i := w; i < strangers; i += 8 {
				wantProblem(t, record(refused, httptest.NewRequest("GET", "/?id=out"+strconv.Itoa(i), nil)), queueFull, "1")
			}
		})
	}
	// A request for a key that is locked already is not refused by MaxKeys.
	wantProblem(t, record(refused, httptest.NewRequest("GET", "/?id=in0", nil)), busy, "1")
	crowd.Wait()
	for range maxKeys {
		leave <- true
	}
	all.Wait()
	if got := len(s.Attempts()); got != maxKeys {
		t.Errorf("the store was asked for %d keys", got)
	}

	// Afterwards the limit is free again.
	quick := lock(http.NotFoundHandler())
	for i := range maxKeys + strangers {
		if got := record(quick, httptest.NewRequest("GET", "/?id=next"+strconv.Itoa(i), nil)); got.status != http.StatusNotFound {
			t.Fatalf("number %d afterwards: %d %s", i, got.status, got.body)
		}
	}
	if left, err := s.Inspect(t.Context(), "", math.MaxInt); err != nil || len(left) != 0 {
		t.Errorf("%d keys are left, %v", len(left), err)
	}
}

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
			return httpmw.Lock(l, httpmw.JSONField("id"), opts())
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
