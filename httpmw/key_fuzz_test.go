package httpmw_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/go-chi/chi/v5"
)

// written returns text as a client may write it into a URL: bytes that need not
// be encoded are, where a bit of how is set.
func written(text string, plain string, how uint64) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if strings.IndexByte(plain, c) >= 0 && how>>(i%64)&1 == 0 {
			b.WriteByte(c)
		} else {
			format := "%%%02X"
			if how>>(i*7%64)&1 != 0 {
				format = "%%%02x"
			}
			fmt.Fprintf(&b, format, c)
		}
	}
	return b.String()
}

// unreserved is what may stand in any part of a URL as it is.
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// mustBeRefused checks that there is an error and no key.
func mustBeRefused(t *testing.T, got any, err error) {
	t.Helper()
	var k *distlock.KeyError
	if got != nil || !errors.Is(err, distlock.ErrKey) || !errors.As(err, &k) || k.Detail == "" {
		t.Errorf("%#v, %v; want no value and a KeyError", got, err)
	}
}

// FuzzPathValue sends two path values, encoded in many ways, through routers that match
// the path decoded and encoded. With either, a value is the one that the client wrote, or
// the request is refused: it never gets the lock of another value.
func FuzzPathValue(f *testing.F) {
	f.Add("u/1", "b", uint64(0))
	f.Add("100%", "a b", uint64(5))
	f.Add("%61", "a", ^uint64(0))
	f.Add("%2541", "%", uint64(1)<<40)
	f.Add("100%25", "x", uint64(1))
	f.Add("%", "a", ^uint64(0))
	f.Add("é", "\xff\x00", uint64(2))
	var got, gotTwo any
	var err, errTwo error
	one, two := httpmw.PathValue("one"), httpmw.PathValue("two")
	h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, err = one(r)
		gotTwo, errTwo = two(r)
	})
	mux := http.NewServeMux()
	mux.Handle("GET /x/{one}/y/{two}", h)
	router := chi.NewRouter()
	router.Get("/x/{one}/y/{two}", h)
	f.Fuzz(func(t *testing.T, a, b string, how uint64) {
		for _, s := range []string{a, b} {
			if s == "" || s == "." || s == ".." || strings.Contains(s, "//") {
				return // ServeMux sends the client elsewhere
			}
		}
		path := "/x/" + written(a, unreserved+"$&+,:;=@!*'()", how) + "/y/" + written(b, unreserved, how>>3)
		for i, handler := range []http.Handler{mux, router} {
			name := []string{"ServeMux", "chi"}[i]
			r := httptest.NewRequest("GET", path, nil)
			w := httptest.NewRecorder()
			got, gotTwo, err, errTwo = nil, nil, nil, nil
			handler.ServeHTTP(w, r)
			for _, v := range []struct {
				want string
				got  any
				err  error
			}{{a, got, err}, {b, gotTwo, errTwo}} {
				switch {
				case v.err != nil && !strings.Contains(a+b, "%"):
					t.Errorf("%s: %s: %q is refused: %v", name, path, v.want, v.err)
				case v.err != nil:
					mustBeRefused(t, v.got, v.err)
				case v.got != v.want && w.Code == http.StatusOK:
					t.Errorf("%s: %s: the value is %q, the lock is on %#v", name, path, v.want, v.got)
				}
			}
		}
	})
}
