package httpmw_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestRefusals(t *testing.T) {
	key := keyOf(t, "7")
	secret := errors.New("user 4711 at db.internal")
	cases := []struct {
		explanation string
		prepare     func(t *testing.T, s *testkit.Store, l *distlock.Locker)
		key         httpmw.KeyFunc
		opts        func(*distlock.Opts)
		want        httpmw.Problem
		retryAfter  string
	}{
		{
			"another process has the lock, for longer than we would",
			func(t *testing.T, s *testkit.Store, _ *distlock.Locker) { t.Helper(); hold(t, s, key) },
			nil, nil, busy, "10",
		},
		{
			"the same, and we would have it for less",
			func(t *testing.T, s *testkit.Store, _ *distlock.Locker) { t.Helper(); hold(t, s, key) },
			nil, func(o *distlock.Opts) { o.KeyTimeout = 2500 * time.Millisecond }, busy, "3",
		},
		{
			"a request of this process has it",
			func(t *testing.T, _ *testkit.Store, l *distlock.Locker) {
				t.Helper()
				lease, err := l.Acquire(t.Context(), key, distlock.Opts{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = lease.Release(context.WithoutCancel(t.Context())) })
			},
			nil, nil, busy, "1",
		},
		{
			"the wait is over",
			func(t *testing.T, s *testkit.Store, _ *distlock.Locker) { t.Helper(); hold(t, s, key) },
			nil, func(o *distlock.Opts) { o.RetryCount, o.RetryInterval = 2, time.Millisecond }, busy, "10",
		},
		{
			"the store is down",
			func(_ *testing.T, s *testkit.Store, _ *distlock.Locker) { s.Fail(errBroken, testkit.Try, testkit.Wait) },
			nil, nil, unavailable, "1",
		},
		{
			"the KeyFunc fails",
			nil, func(*http.Request) (any, error) { return nil, secret },
			nil, internal, "",
		},
		{
			"the KeyFunc says busy",
			nil, func(*http.Request) (any, error) { return nil, distlock.ErrNotAcquired },
			nil, busy, "1",
		},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{})
			if c.prepare != nil {
				c.prepare(t, s, l)
				defer s.Fail(nil)
			}
			o := opts()
			if c.opts != nil {
				c.opts(&o)
			}
			keyFunc := c.key
			if keyFunc == nil {
				keyFunc = constant("7")
			}
			h := httpmw.Lock(l, keyFunc, o)(never(t))
			got := send(t, serve(t, h), "GET", "/", "")
			wantProblem(t, got, c.want, c.retryAfter)
			if strings.Contains(got.body, secret.Error()) {
				t.Errorf("the answer tells secrets: %s", got.body)
			}
		})
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
	if calls != 1 {
		t.Errorf("called %d times", calls)
	}

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
			Failed: func(_ context.Context, i distlock.FailedInfo) { told = append(told, i.Err) },
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
