// Package web_test tests the adapters for web frameworks: what all of them promise is here, and
// what one framework does otherwise in its own file.
package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var (
	byID = httpmw.Int(httpmw.PathValue("id"))
	pay  = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
)

// framework is a web framework. C is what its handlers get.
type framework[C any] struct {
	start   func(t *testing.T, l *distlock.Locker, routes ...route[C]) (url string)
	context func(C) context.Context
	paid    func(C) error // answers with "paid " and the path value id

	busy, badKey, unavailable string                // what the bodies of refusals contain
	empty                     int                   // the status for an empty path value
	lost                      map[string]answers[C] // of handlers that have lost their lock
}

// route is one for POST, under the lock of its key.
type route[C any] struct {
	path    string
	key     httpmw.KeyFunc
	handler func(C) error
}

// answers says how a handler answers, and what the client gets: the 424 of httpmw, or its own.
type answers[C any] struct {
	handler func(C) error
	code    int
}

// answer is what a client gets.
type answer struct {
	code   int
	header http.Header
	body   string
}

// post sends a request over a connection of its own.
func post(t *testing.T, url, body string) answer {
	t.Helper()
	a, err := postWith(t.Context(), url, strings.NewReader(body))
	if err != nil {
		t.Errorf("%s: %v", url, err)
	}
	return a
}

func postWith(ctx context.Context, url string, body io.Reader) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return answer{}, err
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text)}, err
}

// want checks an answer. Refusals after which a client may try again have Retry-After.
func (a answer) want(t *testing.T, what string, code int, body string) {
	t.Helper()
	again := code == http.StatusConflict || code == http.StatusServiceUnavailable
	if a.code != code || !strings.Contains(a.body, body) || again != (a.header.Get("Retry-After") == "1") {
		t.Errorf("%s: %d %s %v, want %d %s", what, a.code, a.body, a.header, code, body)
	}
}

// outlives checks that the context of a handler around the lock has not ended with the lock.
func outlives(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := context.Cause(ctx); err != nil {
		t.Errorf("after the lock: %v", err)
	}
}

func (f framework[C]) test(t *testing.T) {
	t.Parallel()
	t.Run("lock", f.testLock)
	t.Run("loss", f.testLoss)
}

// testLock: while a request holds the lock of its order, which is in the path or in the body,
// another one for the same order is refused and does not run, and one for another order runs.
func (f framework[C]) testLock(t *testing.T) {
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	inside := make(chan func(), 1) // what the next handler does
	var runs atomic.Int32
	handler := func(c C) error {
		runs.Add(1)
		if lease, ok := distlock.FromContext(f.context(c)); !ok || lease.Check() != nil {
			t.Error("the context of the handler has no lease")
		}
		select {
		case do := <-inside:
			do()
		default:
		}
		return f.paid(c)
	}
	busyFor := func(d time.Duration) httpmw.KeyFunc {
		return func(*http.Request) (any, error) {
			return nil, &distlock.Error{Op: "acquire", Err: distlock.ErrNotAcquired, RetryAfter: d}
		}
	}
	url := f.start(t, l, route[C]{"/orders/:id/pay", byID, handler}, route[C]{"/pay", httpmw.JSONField("order", 100), handler},
		route[C]{"/soon", busyFor(1), handler}, route[C]{"/later", busyFor(time.Second + 1), handler})
	for path, body := range map[string]string{"/orders/42/pay": "", "/pay": `{"order": 42}`} {
		inside <- func() {
			post(t, url+"/orders/042/pay", "").want(t, "the same order", http.StatusConflict, f.busy)
			post(t, url+"/pay", `{"order": 42}`).want(t, "the same order in a field", http.StatusConflict, f.busy)
			post(t, url+"/orders/43/pay", "").want(t, "another order", http.StatusOK, "paid 43")
		}
		post(t, url+path, body).want(t, path, http.StatusOK, "paid ")
	}
	post(t, url+"/orders/x/pay", "").want(t, "not a number", http.StatusBadRequest, f.badKey)
	post(t, url+"/pay", "").want(t, "no body", http.StatusBadRequest, "")
	post(t, url+"/orders//pay", "").want(t, "no order", f.empty, "")
	store.Fail(testkit.ErrBroken, testkit.Try, testkit.Enqueue)
	defer store.Fail(nil)
	a := post(t, url+"/orders/42/pay", "")
	a.want(t, "without the store", http.StatusServiceUnavailable, f.unavailable)
	if strings.Contains(a.body, "broken") {
		t.Errorf("the client is told of the store: %s", a.body)
	}
	for path, seconds := range map[string]string{"/soon": "1", "/later": "2"} { // rounded up
		if got := post(t, url+path, "").header.Get("Retry-After"); got != seconds {
			t.Errorf("%s: Retry-After is %q, want %s", path, got, seconds)
		}
	}
	if n := runs.Load(); n != 4 {
		t.Errorf("handlers ran %d times, want 4", n)
	}
}

// testLoss: the context of the handler ends when the lock is lost, and the client gets no
// success and no 5xx after that. A 4xx of the handler is its own, and a panic releases the lock.
func (f framework[C]) testLoss(t *testing.T) {
	f.lost["a panic"] = answers[C]{func(C) error { panic("in doubt") }, http.StatusInternalServerError}
	for name, c := range f.lost {
		l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
		url := f.start(t, l, route[C]{"/orders/:id", byID, func(got C) error {
			if err := testkit.Lose(f.context(got), l); !errors.Is(err, distlock.ErrLost) {
				t.Errorf("%s: the context ended with %v", name, err)
			}
			return c.handler(got)
		}})
		a := post(t, url+"/orders/42", "")
		if lost := c.code == http.StatusFailedDependency; a.code != c.code || lost != strings.Contains(a.body, httpmw.TypeLost) || lost && strings.Contains(a.body, "paid") {
			t.Errorf("%s: %d %s, want %d", name, a.code, a.body, c.code)
		}
		if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
			t.Errorf("%s: after the request: %v, %v", name, infos, err)
		}
	}
}
