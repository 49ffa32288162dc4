package httpmw_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func TestOneThingHasOneKeyWhicheverWayItIsReached(t *testing.T) {
	bySKU, byID, byBoth := keyOf(t, "u/1"), keyOf(t, 42), keyOf(t, []any{"u/1", 42})
	cases := []struct {
		explanation string
		key         httpmw.KeyFunc
		path, body  string
		header      []string
		want        string
	}{
		{"a path value", httpmw.PathValue("x"), "/items/u%2F1", "", nil, bySKU},
		{"an integer in the path", httpmw.Int(httpmw.PathValue("x")), "/items/42", "", nil, byID},
		{"with a plus", httpmw.Int(httpmw.PathValue("x")), "/items/+42", "", nil, byID},
		{"encoded", httpmw.Int(httpmw.PathValue("x")), "/items/%342", "", nil, byID},
		{"a header", httpmw.Header("x-sku"), "/items/-", "", []string{"X-SKU", "u/1"}, bySKU},
		{"a query parameter", httpmw.Query("sku"), "/items/-?a=1&sku=u/1", "", nil, bySKU},
		{"an integer in the query", httpmw.Int(httpmw.Query("id")), "/items/-?id=%2B42", "", nil, byID},
		{"a body field", httpmw.JSONField("sku", 0), "/items/-", `{"sku":"u\/1"}`, nil, bySKU},
		{"a nested one", httpmw.JSONField("order.id", 0), "/items/-", `{"order":{"id":42}}`, nil, byID},
		{"a quoted integer", httpmw.Int(httpmw.JSONField("id", 0)), "/items/-", `{"id":"42"}`, nil, byID},
		{"an integer through Int", httpmw.Int(httpmw.JSONField("id", 0)), "/items/-", `{"id":42}`, nil, byID},
		{"two parts", httpmw.Params(httpmw.PathValue("x"), httpmw.JSONField("id", 0)), "/items/u%2F1", `{"id":42}`, nil, byBoth},
	}
	for name, route := range map[string]func(middleware, http.Handler) http.Handler{"ServeMux": serveMux("/items/{x}"), "chi": chiWith("/items/{x}")} {
		for _, c := range cases {
			t.Run(name+"/"+c.explanation, func(t *testing.T) {
				s := testkit.NewStore()
				h := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					lease, ok := distlock.FromContext(r.Context())
					if !ok || lease.Key() != c.want {
						t.Errorf("the handler runs under %v", lease)
					}
				})
				srv := serve(t, route(httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), c.key, opts()), h))
				if got := send(t, srv, "POST", c.path, c.body, c.header...); got.status != http.StatusOK {
					t.Errorf("answer %d %s", got.status, got.body)
				}
				if got := s.Attempts(); !slices.Equal(got, []string{c.want}) {
					t.Errorf("keys %q, want %q", got, c.want)
				}
				if !s.Free(t, c.want) {
					t.Error("the lock was not given back")
				}
			})
		}
	}
}

func TestBadRequestsNeverReachTheStore(t *testing.T) {
	deny := errors.New("no user")
	cases := []struct {
		explanation string
		key         httpmw.KeyFunc
		path        string
		header      []string
		detail      string
	}{
		{"not an integer", httpmw.Int(httpmw.PathValue("x")), "/7a", nil, "the parameter is not an integer"},
		{"too large", httpmw.Int(httpmw.PathValue("x")), "/18446744073709551616", nil, "the parameter is not an integer"},
		{"no header", httpmw.Header("X-SKU"), "/7", nil, `header "X-SKU" is missing or empty`},
		{"an empty header", httpmw.Header("X-SKU"), "/7", []string{"X-SKU", ""}, `header "X-SKU" is missing or empty`},
		{"two headers", httpmw.Header("X-SKU"), "/7", []string{"X-SKU", "a", "x-sku", "a"}, `header "X-SKU" appears more than once`},
		{"no query parameter", httpmw.Query("sku"), "/7?SKU=a", nil, `query parameter "sku" is missing or empty`},
		{"two", httpmw.Query("sku"), "/7?sku=a&sku=a", nil, `query parameter "sku" appears more than once`},
		{"a query that others read differently", httpmw.Query("sku"), "/7?sku=a;sku=b", nil, "the query is malformed"},
		{"a bad escape elsewhere", httpmw.Query("sku"), "/7?sku=a&b=%zz", nil, "the query is malformed"},
		{"another type", httpmw.Int(constant(1.5)), "/7", nil, "the parameter is not an integer"},
		{"one part of two", httpmw.Params(httpmw.PathValue("x"), httpmw.Query("id")), "/7", nil, `query parameter "id" is missing or empty`},
		{"nil", constant(nil), "/7", nil, "what the request is about is missing"},
		{"what has no encoding", constant(func() {}), "/7", nil, ""},
		{"Skip as a part", constant([]any{distlock.Skip}), "/7", nil, ""},
		{"its own error", func(*http.Request) (any, error) { return nil, &distlock.KeyError{Detail: "no tenant", Err: deny} }, "/7", nil, "no tenant"},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			s := testkit.NewStore()
			r := chi.NewRouter()
			r.With(httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), c.key, opts())).Get("/{x}", never(t).ServeHTTP)
			wantProblem(t, send(t, serve(t, r), "GET", c.path, "", c.header...), badKey(c.detail), "")
			if got := s.Attempts(); len(got) != 0 {
				t.Errorf("keys %q", got)
			}
		})
	}
}

func TestSkipRunsWithoutALock(t *testing.T) {
	skip := constant(distlock.Skip)
	refuse := func(*http.Request) (any, error) { return nil, distlock.ErrKey }
	for name, key := range map[string]httpmw.KeyFunc{
		"alone":        skip,
		"first part":   httpmw.Params(skip, refuse),
		"last part":    httpmw.Params(constant("a"), skip),
		"under Int":    httpmw.Int(skip),
		"nested parts": httpmw.Params(constant("a"), httpmw.Params(skip)),
	} {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s, distlock.Config{})
		ran := 0
		h := httpmw.Lock(l, key, opts(), httpmw.WithBodyFirst(1))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			ran++
			if _, ok := distlock.FromContext(r.Context()); ok {
				t.Errorf("%s: there is a lease", name)
			}
		}))
		got := record(h, httptest.NewRequest("POST", "/", strings.NewReader("longer than WithBodyFirst allows")))
		if ran != 1 || got.status != http.StatusOK || len(s.Attempts()) != 0 {
			t.Errorf("%s: ran %d times, %d, keys %q", name, ran, got.status, s.Attempts())
		}
	}
	// An error before it decides.
	if v, err := httpmw.Params(refuse, skip)(httptest.NewRequest("GET", "/", nil)); !errors.Is(err, distlock.ErrKey) {
		t.Errorf("Params = %v, %v", v, err)
	}
}
