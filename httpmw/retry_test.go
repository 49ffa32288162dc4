package httpmw_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// eager repeats requests as proxies may be told to. It is a model of their documented
// conditions, all of them at once and for every method:
//
//	Envoy, Istio   5xx, gateway-error, reset; 409 (retriable-4xx)
//	nginx          500, 502, 503, 504, 403, 404, 429, and errors of the connection
//	HAProxy        401, 403, 404, 408, 425, 429, 500 to 504, and errors of the connection
type eager struct{}

func (eager) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	for range 4 {
		again := r.Clone(r.Context())
		again.Body = http.NoBody
		resp, err = http.DefaultTransport.RoundTrip(again)
		if err == nil && !repeated[resp.StatusCode] && resp.StatusCode < 500 {
			return resp, nil
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			resp.Body = http.NoBody
		}
	}
	return resp, err
}

var repeated = map[int]bool{401: true, 403: true, 404: true, 408: true, 409: true, 425: true, 429: true}

// Through a proxy that repeats requests, one whose lock was lost works once, and one that did
// not get its lock is repeated until it works.
func TestRetryingProxy(t *testing.T) {
	for name, c := range map[string]struct {
		before  func(t *testing.T, s *testkit.Store) (heal func())
		during  func(w http.ResponseWriter, r *http.Request, s *testkit.Store)
		refused int32 // attempts that do not get the lock
		want    int
	}{
		"lost, and a success": {
			during: func(w http.ResponseWriter, r *http.Request, s *testkit.Store) {
				loseLease(t, s, r)
				w.WriteHeader(http.StatusCreated)
			},
			want: http.StatusFailedDependency,
		},
		"lost, and stopped": {
			during: func(_ http.ResponseWriter, r *http.Request, s *testkit.Store) { loseLease(t, s, r) },
			want:   http.StatusFailedDependency,
		},
		"lost, and not known before the end": {
			during: func(_ http.ResponseWriter, _ *http.Request, s *testkit.Store) { s.Steal(t, keyOf(t, "7")) },
			want:   http.StatusFailedDependency,
		},
		"busy at first": {
			before: func(t *testing.T, s *testkit.Store) func() {
				t.Helper()
				lease := hold(t, s, keyOf(t, "7"))
				return func() { _ = lease.Release(t.Context()) }
			},
			refused: 2, want: http.StatusOK,
		},
		"the store is down at first": {
			before: func(_ *testing.T, s *testkit.Store) func() {
				s.Fail(errBroken, testkit.Try)
				return func() { s.Fail(nil) }
			},
			refused: 2, want: http.StatusOK,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.NewStore()
			heal := func() {}
			if c.before != nil {
				heal = c.before(t, s)
			}
			var refused, worked atomic.Int32
			l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Failed: func(context.Context, distlock.FailedInfo) {
				if refused.Add(1) == c.refused {
					heal()
				}
			}}})
			srv := serve(t, httpmw.Lock(l, constant("7"), opts())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				worked.Add(1)
				if c.during != nil {
					c.during(w, r, s)
				}
			})))
			target, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewServer(&httputil.ReverseProxy{
				Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
				Transport: eager{},
			})
			defer proxy.Close()
			if got := send(t, proxy, http.MethodPost, "/", ""); got.status != c.want || worked.Load() != 1 || refused.Load() != c.refused {
				t.Errorf("answer %d; the handler worked %d times, after %d refusals", got.status, worked.Load(), refused.Load())
			}
			http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		})
	}
}
