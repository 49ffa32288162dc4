package lockui_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errBroken is the error of a store that fails. Clients must not see it.
var errBroken = errors.New("dial tcp 10.1.2.3:6379: refused")

// site is a server with a lockui in a bubble. Its connections are in memory.
type site struct {
	*testing.T
	store  *testkit.Store
	locker *distlock.Locker
	ui     *lockui.Handler
	server *http.Server
	client *http.Client
}

// bubble runs f in a bubble with a site. The Handler is mounted at /locks.
func bubble(t *testing.T, f func(s *site), opts ...lockui.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := testkit.NewStore()
		l := newLocker(t, b)
		f(newSite(t, b, l, lockui.New(l, opts...)))
	})
}

func newSite(t *testing.T, b *testkit.Store, l *distlock.Locker, ui *lockui.Handler, change ...func(*http.Server)) *site {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/locks/", http.StripPrefix("/locks", ui))
	pipes := &listener{make(chan net.Conn), make(chan struct{})}
	s := &site{t, b, l, ui, &http.Server{Handler: mux}, &http.Client{Transport: &http.Transport{DialContext: pipes.dial}}}
	for _, f := range change {
		f(s.server)
	}
	go s.server.Serve(pipes) // until it is closed
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		_ = s.server.Close()
		time.Sleep(time.Second) // the server waits before it closes a connection with an unread body
	})
	return s
}

// listener accepts connections in memory, which are part of a bubble.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { close(l.closed); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{} }

func newLocker(t *testing.T, b driver.Backend) *distlock.Locker {
	t.Helper()
	return testkit.NewLocker(t, b, distlock.Config{Holder: "web-3/1432"})
}

// inspected returns how often the store was inspected.
func (s *site) inspected() int { return len(s.store.Calls(testkit.Inspect)) }

// others makes the store find more keys.
func (s *site) others(more ...driver.KeyInfo) {
	s.store.After(func(_ context.Context, c *testkit.Call) error {
		c.Found = append(c.Found, more...)
		return nil
	})
}

// hold takes a key until the end of the test.
func (s *site) hold(key string, o distlock.Opts) *distlock.Lease {
	s.Helper()
	lease := testkit.MustAcquire(s, s.locker, key, o)
	s.Cleanup(func() { _ = lease.Release(context.WithoutCancel(s.Context())) }) // released already, or lost on purpose
	return lease
}

type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request; path is below the mount. It asks for JSON unless a header says
// something else.
func (s *site) send(method, path, body string, header ...string) answer {
	s.Helper()
	resp := s.open(method, path, body, header...)
	defer resp.Body.Close()
	defer time.AfterFunc(time.Hour, func() { resp.Body.Close() }).Stop() // a stream has no end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

func (s *site) open(method, path, body string, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, "http://shop.example/locks"+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.client.Transport.RoundTrip(r) // does not follow redirects
	if err != nil {
		s.Fatal(err)
	}
	return resp
}

func (s *site) get(path string, header ...string) answer {
	s.Helper()
	return s.send("GET", path, "", header...)
}

// list returns the locks at a path.
func (s *site) list(path string) locks {
	s.Helper()
	got := s.get(path)
	if got.status != http.StatusOK || got.header.Get("Content-Type") != "application/json" {
		s.Fatalf("%s: %d %s", path, got.status, got.body)
	}
	return s.decode(got.body)
}

// wantProblem checks an answer that is an error, of which the client sees only the
// detail.
func (s *site) wantProblem(got answer, status int, detail string) {
	s.Helper()
	want := fmt.Sprintf(`{"title":%q,"status":%d,"detail":%q}`+"\n", http.StatusText(status), status, detail)
	if got.status != status || got.body != want || got.header.Get("Content-Type") != "application/problem+json" {
		s.Errorf("answer %d %q %s, want %s", got.status, got.header.Get("Content-Type"), got.body, want)
	}
	if retry := got.header.Get("Retry-After"); (retry == "1") != (status == http.StatusServiceUnavailable) {
		s.Errorf("Retry-After is %q", retry)
	}
}

// locks is the JSON of locks.
type locks struct {
	At         time.Time `json:"at"`
	Locks      []lock    `json:"locks"`
	More       bool      `json:"more"`
	CanRelease bool      `json:"can_release"`
}

type lock struct {
	Key     string   `json:"key"`
	Mode    string   `json:"mode"`
	Foreign string   `json:"foreign"`
	Held    int      `json:"held"`
	Waiting int      `json:"waiting"`
	Here    int      `json:"waiting_here"`
	Holders []holder `json:"holders"`
	Waiters []waiter `json:"waiters"`
}

type holder struct {
	Holder      string    `json:"holder"`
	Fingerprint string    `json:"fingerprint"`
	Token       string    `json:"token"`
	LastToken   string    `json:"last_token"`
	Since       time.Time `json:"since"`
	Until       time.Time `json:"until"`
}

type waiter struct {
	Waiter      string    `json:"waiter"`
	Fingerprint string    `json:"fingerprint"`
	Mode        string    `json:"mode"`
	Permits     int       `json:"permits"`
	Since       time.Time `json:"since"`
}

func (s *site) decode(text string) (l locks) {
	s.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		s.Fatalf("%v: %s", err, text)
	}
	return l
}

func (l locks) keys() []string {
	var keys []string
	for _, lock := range l.Locks {
		keys = append(keys, lock.Key)
	}
	return keys
}

func (s *site) wantKeys(l locks, want ...string) {
	s.Helper()
	if !slices.Equal(l.keys(), want) {
		s.Errorf("keys %q, want %q", l.keys(), want)
	}
}
