package httpmw_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestProblemOf has each code of an error; grpcmw has errors that match several others.
func TestProblemOf(t *testing.T) {
	join := func(errs ...error) error {
		return &distlock.Error{Op: "acquire", Key: "shop:pay:7", Err: errors.Join(errs...)}
	}
	begun := lost
	begun.Detail = "the request failed after its work had begun"
	for _, c := range []struct {
		err  error
		want httpmw.Problem
	}{
		{testkit.Ran(t, join(distlock.ErrNotAcquired)), begun}, // of another lock, which a function of the handler wanted
		{testkit.Ran(t, join(distlock.ErrLost)), lost},
		{join(distlock.ErrKey), badKey("")},
		{&distlock.KeyError{Detail: "x"}, badKey("x")},
		{&http.MaxBytesError{}, internal}, // says nothing of a key
		{join(distlock.ErrNotAcquired, context.DeadlineExceeded), busy},
		{join(distlock.ErrUnavailable), unavailable},
		{join(distlock.ErrClosed), unavailable},
		{join(distlock.ErrQueueFull), queueFull},
		{context.Canceled, internal},
		{distlock.ErrReentry, problem(http.StatusConflict, httpmw.TypeReentry, "The caller holds the lock", "")},
		{fmt.Errorf("pay: %w", fence.ErrStale), problem(http.StatusPreconditionFailed, httpmw.TypeStale, "A later holder of the lock was here", "")},
		{errBroken, internal},
	} {
		got := httpmw.ProblemOf(c.err)
		if c.want.Status != http.StatusBadRequest && c.want != internal && c.want.Status != lost.Status && c.want.Type != httpmw.TypeReentry && c.want.Type != httpmw.TypeStale {
			c.want.RetryAfter = distlock.DefaultRetryInterval
		}
		if got != c.want {
			t.Errorf("%v: %+v, want %+v", c.err, got, c.want)
		}
	}
}

func TestRetryAfterIsRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", 1: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
	} {
		p := busy
		p.RetryAfter = d
		wantProblem(t, record(p, httptest.NewRequest("GET", "/", nil)), busy, want)
	}
}

// TestErrorHandler checks its arguments, and that it is called exactly once.
func TestErrorHandler(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	held := hold(t, s, keyOf(t, "7"))
	var calls int
	mine := httpmw.WithErrorHandler(func(w http.ResponseWriter, r *http.Request, err error) {
		calls++
		e := new(distlock.Error)
		if !errors.Is(err, distlock.ErrNotAcquired) || !errors.As(err, &e) || e.Key != keyOf(t, "7") || !strings.Contains(err.Error(), "shop:pay") {
			t.Errorf("err = %v", err)
		}
		if r.URL.Path != "/teapot" {
			t.Errorf("request %v", r.URL)
		}
		p := httpmw.ProblemOf(err)
		if p.RetryAfter != 10*time.Second {
			t.Errorf("RetryAfter = %v", p.RetryAfter)
		}
		p.Status, p.Instance = http.StatusTeapot, "/teapot"
		p.ServeHTTP(w, r)
	})
	h := httpmw.Lock(l, constant("7"), opts(), mine)(never(t))
	want := busy
	want.Status, want.Instance = http.StatusTeapot, "/teapot"
	wantProblem(t, record(h, httptest.NewRequest("GET", "/teapot", nil)), want, "10")
	outer := httpmw.Lock(l, constant("outer"), opts())(httpmw.Lock(l, constant("7"), opts())(never(t)))
	wantProblem(t, record(outer, httptest.NewRequest("GET", "/", nil)), busy, "10")

	// After the handler has run it is not called, also if the lock is lost.
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	steal := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.Steal(t, keyOf(t, "7")) })
	wantProblem(t, record(httpmw.Lock(l, constant("7"), opts(), mine)(steal), httptest.NewRequest("GET", "/", nil)), lost, "")
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}
}

// TestFaultsOfKeysReachTheHooks: also the errors of a KeyFunc, as the ErrorHandler gets them.
func TestFaultsOfKeysReachTheHooks(t *testing.T) {
	own := errors.New("own")
	for name, key := range map[string]httpmw.KeyFunc{
		"missing": httpmw.Header("X"), "nothing": constant(nil), "wiring": httpmw.PathValue("id"),
		"own": func(*http.Request) (any, error) { return nil, own }, "not to be encoded": constant(func() {}),
	} {
		var told, handled []error
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
			Event: func(_ context.Context, e distlock.Event) { told = append(told, e.Err) },
		}})
		h := httpmw.Lock(l, key, opts(), httpmw.WithErrorHandler(func(_ http.ResponseWriter, _ *http.Request, err error) { handled = append(handled, err) }))
		r := httptest.NewRequest("GET", "/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, &http.Server{ErrorLog: log.New(io.Discard, "", 0)}))
		record(h(never(t)), r)
		if len(told) != 1 || !slices.Equal(told, handled) {
			t.Errorf("%s: the hook was told %v, the ErrorHandler %v", name, told, handled)
		}
	}
}
