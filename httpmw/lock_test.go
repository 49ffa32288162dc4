package httpmw_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestTheRequestHasTheLeasesContext(t *testing.T) {
	s := testkit.NewStore()
	type ctxKey struct{}
	h := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts())(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		lease, ok := distlock.FromContext(r.Context())
		if !ok || lease.Context().Done() != r.Context().Done() || r.Context().Value(ctxKey{}) != "v" || lease.Check() != nil {
			t.Errorf("lease %v", lease)
		}
		s.Memory().Drop(lease.Key())
		if err := lease.Refresh(r.Context()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("Refresh = %v", err)
		}
		<-r.Context().Done()
		if !errors.Is(context.Cause(r.Context()), distlock.ErrLost) {
			t.Errorf("cause %v", context.Cause(r.Context()))
		}
	}))
	r := httptest.NewRequest("GET", "/", nil)
	record(h, r.WithContext(context.WithValue(r.Context(), ctxKey{}, "v")))
}

func TestNestedLocks(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	lock := httpmw.Lock(l, constant("7"), opts())
	ok := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) })
	r := httptest.NewRequest("GET", "/", nil)
	if got := record(lock(lock(ok)), r); got.status != http.StatusAccepted || len(s.Attempts()) != 1 {
		t.Errorf("re-entry: %d %s, keys %q", got.status, got.body, s.Attempts())
	}

	// The outer lease is over: nothing is taken silently, and the outcome of the
	// request as a whole is in doubt.
	lose := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			lease, _ := distlock.FromContext(r.Context())
			s.Memory().Drop(lease.Key())
			_ = lease.Refresh(r.Context()) // lost, as the answer shows
			next.ServeHTTP(w, r)
		})
	}
	wantProblem(t, record(lock(lose(lock(never(t)))), r), lost, "")
}

func TestPanicsAndGoexitPassThroughAndRelease(t *testing.T) {
	for _, value := range []any{"boom", http.ErrAbortHandler, errors.New("boom")} {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{})
		h := httpmw.Lock(l, constant("7"), opts())(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X", "set before")
			panic(value)
		}))
		w := httptest.NewRecorder()
		func() {
			defer func() {
				if got := recover(); got != value { // net/http compares with == too
					t.Errorf("panic %v, want %v", got, value)
				}
			}()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		}()
		done := make(chan bool)
		goexit := httpmw.Lock(l, constant("7"), opts())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
		go func() {
			defer close(done)
			goexit.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
			t.Error("Goexit did not go on")
		}()
		<-done
		if !s.Free(t, keyOf(t, "7")) || w.Body.Len() != 0 {
			t.Errorf("after %v: free %v, body %q", value, s.Free(t, keyOf(t, "7")), w.Body)
		}

		// On a real server the connection ends, and the next request is served.
		srv := serve(t, h)
		if resp, err := srv.Client().Get(srv.URL); err == nil {
			t.Errorf("%v: an answer: %v", value, resp.Status)
			resp.Body.Close()
		}
		if !s.Free(t, keyOf(t, "7")) {
			t.Errorf("%v: not released", value)
		}
	}
}
