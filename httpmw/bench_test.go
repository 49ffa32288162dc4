package httpmw_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

// discard is a ResponseWriter that discards everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header       { return d.header }
func (*discard) Write(p []byte) (int, error) { return len(p), nil }
func (*discard) WriteHeader(int)             {}

func benchRequest() *http.Request {
	r := httptest.NewRequest("POST", "/orders/42/pay", nil)
	r.SetPathValue("id", "42")
	return r
}

// BenchmarkDo is the lock alone, to compare the middleware with.
func BenchmarkDo(b *testing.B) {
	o := opts()
	o.ParamLock = true
	g := wiring.Bind(testkit.NewLocker(b, memlock.New(), distlock.Config{}), o)
	w, r := &discard{http.Header{}}, benchRequest()
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	b.ReportAllocs()
	for b.Loop() {
		_ = g.Do(r.Context(), r.PathValue("id"), func(context.Context) error {
			h.ServeHTTP(w, r)
			return nil
		})
	}
}

// BenchmarkLock is the same lock taken by the middleware.
func BenchmarkLock(b *testing.B) {
	for _, c := range []struct {
		name string
		key  httpmw.KeyFunc
	}{
		{"PathValue", httpmw.PathValue("id")},
		{"Int", httpmw.Int(httpmw.PathValue("id"))},
		{"Params", httpmw.Params(httpmw.PathValue("id"), httpmw.Int(httpmw.PathValue("id")))},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := httpmw.Lock(testkit.NewLocker(b, memlock.New(), distlock.Config{}), c.key, opts())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			w, r := &discard{http.Header{}}, benchRequest()
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
		})
	}
}
