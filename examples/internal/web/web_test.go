// Package web_test tests the adapters for frameworks of servers. What a route under a
// lock does is one table here. What one framework does otherwise is in its own file.
package web_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// problems are the answers of httpmw.
var problems = answers{
	ok: http.StatusOK, panics: http.StatusInternalServerError,
	busy: outcome{http.StatusConflict, httpmw.TypeBusy}, badKey: outcome{http.StatusBadRequest, httpmw.TypeBadKey},
	away: outcome{http.StatusServiceUnavailable, httpmw.TypeUnavailable}, lost: outcome{http.StatusFailedDependency, httpmw.TypeLost},
	empty: outcome{http.StatusBadRequest, ""},
}

var (
	pay     = distlock.Opts{Prefix: "shop:", Value: "pay", RetryCount: 1}
	waiting = distlock.Opts{Prefix: "shop:", Value: "pay"}
)

// framework is a framework with a route for orders. C is what its handlers get.
type framework[C any] struct {
	start   func(t *testing.T, l *distlock.Locker, o distlock.Opts, handler func(C) error) call
	context func(C) context.Context
	paid    func(C) error // answers with "paid " and the order

	answers

	after map[string]reply[C] // of handlers that have lost their lock
}

// answers are what the middleware says.
type answers struct {
	ok, panics                      int     // codes
	busy, badKey, away, lost, empty outcome // empty: there is no order
}

// call sends a request about an order, and waits for the answer.
type call func(ctx context.Context, order string) (answer, error)

// answer is what a client gets. The code is a status of HTTP, or a code of gRPC.
type answer struct {
	code       int
	retryAfter string // in seconds
	body       string
}

// outcome is an answer, with a part of its body.
type outcome struct {
	code int
	body string
}

// reply is how a handler answers, and the code that the client gets.
type reply[C any] struct {
	handler func(C) error
	code    int
}

// number is the key of an order. Two orders fail as if the lock were busy for a time.
func number(order string) (any, error) {
	busy := distlock.Error{Op: "acquire", Err: distlock.ErrNotAcquired, RetryAfter: 1}
	switch order {
	case "later":
		busy.RetryAfter += time.Second
		fallthrough
	case "soon":
		return nil, &busy
	}
	n, err := strconv.Atoi(order)
	if err != nil {
		return nil, &distlock.KeyError{Detail: "not a number", Err: err}
	}
	return n, nil
}

// byID is number for a path value.
func byID(r *http.Request) (any, error) {
	order, err := httpmw.PathValue("id")(r)
	if err != nil {
		return nil, err
	}
	return number(order.(string))
}

// post returns a call that posts to the path of an order, over a connection of its own.
func post(url string) call {
	return func(ctx context.Context, order string) (answer, error) {
		return send(ctx, url+"/orders/"+order+"/pay", http.NoBody) // with a body, net/http does not see that the client leaves
	}
}

func send(ctx context.Context, url string, body io.Reader) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return answer{}, err
	}
	r.Close = true
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)}, err
}

// must makes a call that has an answer.
func (c call) must(t *testing.T, order string) answer {
	t.Helper()
	a, err := c(t.Context(), order)
	if err != nil {
		t.Errorf("%s: %v", order, err)
	}
	return a
}

// outlives checks that the context of a handler around the lock has not ended with the
// lock.
func outlives(ctx context.Context, t *testing.T) {
	t.Helper()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) { // its client has left
		t.Errorf("after the lock: %v", err)
	}
}

func (f framework[C]) test(t *testing.T) {
	t.Parallel()
	t.Run("lock", f.testLock)
	t.Run("lost", f.testLost)
	t.Run("cancelled", f.testCancelled)
}

// testLock: while a request holds the lock of its order, another one for it is refused
// and does not run, and one for another order runs. Clients are told when they may try
// again, and nothing of the store.
func (f framework[C]) testLock(t *testing.T) {
	store := testkit.NewStore()
	l := testkit.NewLocker(t, store, distlock.Config{})
	inside := make(chan func(), 1) // what the next handler does
	var runs atomic.Int32
	call := f.start(t, l, pay, func(c C) error {
		runs.Add(1)
		if lease, ok := distlock.FromContext(f.context(c)); !ok || lease.Check() != nil || !strings.HasPrefix(lease.Key(), "shop:pay:4") {
			t.Error("the context of the handler has no lease of the key of all frameworks")
		}
		select {
		case do := <-inside:
			do()
		default:
		}
		return f.paid(c)
	})
	want := func(order string, want outcome, retryAfter string) {
		t.Helper()
		if a := call.must(t, order); a.code != want.code || !strings.Contains(a.body, want.body) || a.retryAfter != retryAfter || strings.Contains(a.body, "broken") {
			t.Errorf("%q: %+v, want %v, Retry-After %q", order, a, want, retryAfter)
		}
	}
	inside <- func() {
		want("042", f.busy, "1")
		want("43", outcome{f.ok, "paid 43"}, "")
	}
	want("42", outcome{f.ok, "paid 42"}, "")
	want("x", f.badKey, "")
	want("", f.empty, "")
	want("soon", f.busy, "1")
	want("later", f.busy, "2")
	store.Before(func(context.Context, *testkit.Call) error { return testkit.ErrBroken })
	defer store.Before(nil)
	want("42", f.away, "1")
	if n := runs.Load(); n != 2 {
		t.Errorf("handlers ran %d times, want 2", n)
	}
}

// testLost: the context of the handler ends when the lock is lost, and the client gets
// no success after that. An error of the handler is its own, and a panic releases the
// lock.
func (f framework[C]) testLost(t *testing.T) {
	l := testkit.NewLocker(t, memlock.New(), distlock.Config{})
	f.after["a panic"] = reply[C]{func(C) error { panic("in doubt") }, f.panics}
	var handler func(C) error
	call := f.start(t, l, pay, func(c C) error {
		if err := testkit.Lose(f.context(c), l); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the context ended with %v", err)
		}
		return handler(c)
	})
	for name, r := range f.after {
		handler = r.handler
		a := call.must(t, "42")
		if lost := strings.Contains(a.body, f.lost.body); a.code != r.code || lost != (r.code == f.lost.code) || lost && strings.Contains(a.body, "paid") {
			t.Errorf("%s: %+v, want %d", name, a, r.code)
		}
		if infos, err := admin.Inspect(t.Context(), l, "", 10); err != nil || len(infos) != 0 {
			t.Errorf("%s: after the request: %v, %v", name, infos, err)
		}
	}
}

// testCancelled: a request whose client has left gives up its wait.
func (f framework[C]) testCancelled(t *testing.T) {
	const key = "shop:pay:42"
	store := memlock.New()
	other := testkit.NewLocker(t, store, distlock.Config{})
	call := f.start(t, testkit.NewLocker(t, store, distlock.Config{}), waiting, func(C) error { t.Error("a handler runs without the lock"); return nil })
	held := testkit.MustAcquire(t, other, key, distlock.Opts{})
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := call(ctx, "42"); left <- err }()
	waited := adaptertest.Waited(other, key)
	testkit.Eventually(t, "the request waits", waited)
	leave()
	if err := <-left; err == nil {
		t.Error("the client has an answer")
	}
	testkit.Eventually(t, "the request gives up", func() bool { return !waited() })
	testkit.WantIs(t, held.Release(t.Context()))
}
