package httpmw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// errBroken is the error of a store that fails. Clients must not see it.
var errBroken = errors.New("dial tcp 10.1.2.3:6379: refused")

// hold takes a key as another process would, for an hour. Clients must not see its
// name.
func hold(t *testing.T, s *testkit.Store, key string) *distlock.Lease {
	t.Helper()
	other := testkit.NewLocker(t, s.Backend, distlock.Config{Holder: "web-3/1432"})
	lease := testkit.MustAcquire(t, other, key, distlock.Opts{KeyTimeout: time.Hour})
	t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) }) // released already, or lost on purpose
	return lease
}

// opts returns the options of most tests: one attempt, no wait.
func opts() distlock.Opts {
	return distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
}

// keyOf is the key that Wrap gives to params.
func keyOf(t *testing.T, params any) string {
	t.Helper()
	o := opts()
	o.ParamLock = true
	key, err := wiring.Key(o, params)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// serve starts a server on loopback.
func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // panics are what some tests are about
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

type answer struct {
	status  int
	header  http.Header
	trailer http.Header
	body    string
}

// send sends a request and reads the answer to its end.
func send(t *testing.T, srv *httptest.Server, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Header.Del("Date")
	return answer{resp.StatusCode, resp.Header, resp.Trailer, string(b)}
}

// wantProblem compares status, headers and body of an answer with a problem.
func wantProblem(t *testing.T, got answer, want httpmw.Problem, retryAfter string) {
	t.Helper()
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got.status != want.Status || got.body != string(body)+"\n" {
		t.Errorf("answer %d %swant %d %s", got.status, got.body, want.Status, body)
	}
	for name, value := range map[string]string{
		"Content-Type":           "application/problem+json",
		"Cache-Control":          "no-store",
		"X-Content-Type-Options": "nosniff",
		"Retry-After":            retryAfter,
	} {
		if got.header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.header.Get(name), value)
		}
	}
	all := fmt.Sprint(got.body, got.header, got.trailer)
	for _, secret := range []string{"shop:", "10.1.2.3", "refused", "hash", "distlock:", "free?", "thief", "web-3", "1432", "[1000]"} {
		if strings.Contains(all, secret) {
			t.Errorf("the answer shows %q: %s", secret, all)
		}
	}
}

func problem(status int, typ, title, detail string) httpmw.Problem {
	return httpmw.Problem{Type: typ, Title: title, Status: status, Detail: detail}
}

func badKey(detail string) httpmw.Problem {
	return problem(http.StatusBadRequest, httpmw.TypeBadKey, "Invalid request", detail)
}

var (
	busy        = problem(http.StatusConflict, httpmw.TypeBusy, "Busy with another request", "")
	queueFull   = problem(http.StatusTooManyRequests, httpmw.TypeQueueFull, "Too many requests are waiting", "")
	unavailable = problem(http.StatusServiceUnavailable, httpmw.TypeUnavailable, "Temporarily unavailable", "")
	lost        = problem(http.StatusFailedDependency, httpmw.TypeLost, "Outcome in doubt", "the lock was lost before the request was finished")
	internal    = problem(http.StatusInternalServerError, "about:blank", "Internal Server Error", "")
)

// never is a handler that must not run.
func never(t *testing.T) http.Handler {
	t.Helper()
	return http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the handler ran") })
}

func constant(v any) httpmw.KeyFunc {
	return func(*http.Request) (any, error) { return v, nil }
}

// record calls h without a network.
func record(h http.Handler, r *http.Request) answer {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "1000") // set by others, and wrong for a problem
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Header(), nil, w.Body.String()}
}
