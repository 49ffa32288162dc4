package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/distlock-go/distlock"
)

// front serves a share of the requests of each method, and passes the others on.
type front struct {
	mux    http.ServeMux
	spring http.Handler
	shares map[string]*share
}

// share says which requests of a method Go serves.
type share struct{ percent, requests atomic.Int64 }

// next reports whether Go serves the next request.
func (s *share) next() bool {
	n, percent := s.requests.Add(1), s.percent.Load()
	return n*percent/100 != (n-1)*percent/100
}

// servedBy is the header that says which side has served a request.
const servedBy = "Served-By"

func newFront(s *shop, spring *url.URL) *front {
	proxy := httputil.NewSingleHostReverseProxy(spring)
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	proxy.ModifyResponse = func(r *http.Response) error {
		r.Header.Set(servedBy, "spring")
		return nil
	}
	f := &front{spring: proxy, shares: map[string]*share{"sell": {}, "restock": {}, "book": {}}}
	for lock, m := range s.under {
		f.handle(lock, "sell", handler(parseItem, m.sell))
		f.handle(lock, "restock", handler(parseItem, m.restock))
		f.handle(lock, "book", handler(parseOrder, m.book))
	}
	f.mux.HandleFunc("PUT /share/{method}", f.setShare)
	return f
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

// handle adds a route that is served by h or by Spring, as the share of the method says.
func (f *front) handle(lock, method string, h http.HandlerFunc) {
	f.mux.HandleFunc("POST /"+lock+"/"+method, func(w http.ResponseWriter, r *http.Request) {
		if f.shares[method].next() {
			w.Header().Set(servedBy, "go")
			h(w, r)
			return
		}
		f.spring.ServeHTTP(w, r)
	})
}

// setShare sets how many requests of 100 Go serves.
func (f *front) setShare(w http.ResponseWriter, r *http.Request) {
	s, ok := f.shares[r.PathValue("method")]
	percent, err := strconv.ParseInt(r.FormValue("go"), 10, 64)
	if !ok || err != nil || percent < 0 || percent > 100 {
		http.Error(w, "not a method, or not a percentage", http.StatusBadRequest)
		return
	}
	s.percent.Store(percent)
	s.requests.Store(0)
}

// handler calls fn with what parse finds in a request.
func handler[Req any](parse func(*http.Request) (Req, error), fn distlock.Func[Req, int]) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := parse(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		result, err := fn(r.Context(), req)
		switch {
		case err == nil:
			_, _ = fmt.Fprintln(w, result)
		case errors.Is(err, errSoldOut):
			http.Error(w, err.Error(), http.StatusConflict)
		case errors.Is(err, context.Canceled):
			// The client has gone.
		default:
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}
}

func parseItem(r *http.Request) (Item, error) {
	warehouse, err := strconv.ParseInt(r.FormValue("warehouse"), 10, 32)
	return Item{r.FormValue("sku"), int32(warehouse)}, err
}

func parseOrder(r *http.Request) (string, error) { return r.FormValue("order"), nil }
