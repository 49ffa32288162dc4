package httpmw_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/testkit"
)

// TestVerifiedAnswersAsNetHTTPDoes sends the same request to a handler with and
// without WithVerified.
func TestVerifiedAnswersAsNetHTTPDoes(t *testing.T) {
	cases := []struct {
		explanation, method string
		handler             http.HandlerFunc
	}{
		{"nothing", "GET", func(http.ResponseWriter, *http.Request) {}},
		{"only headers", "GET", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", "1") }},
		{"only a status", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }},
		{"only a body", "GET", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hi") }},
		{"an empty write", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(nil)
			w.WriteHeader(http.StatusTeapot) // too late
		}},
		{"everything", "POST", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header()["X"] = []string{"1", "2"}
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusTeapot) // superfluous
			w.Header().Set("Late", "yes")
			fmt.Fprint(w, "a")
			fmt.Fprint(w, "b")
		}},
		{"another's header changed and removed", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Outer", "changed")
			w.Header().Del("Outer-2")
			fmt.Fprint(w, "x")
		}},
		{"an error", "GET", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }},
		{"a long body", "GET", func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				fmt.Fprint(w, strings.Repeat("x", 1000))
			}
		}},
		{"a Content-Length", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "3")
			fmt.Fprint(w, "abc")
		}},
		{"204", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }},
		{"204 with a body", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		}},
		{"304", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Etag", `"1"`)
			w.WriteHeader(http.StatusNotModified)
		}},
		{"HEAD", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			fmt.Fprint(w, "hello")
		}},
		{"HEAD without a length", "HEAD", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }},
		{"declared trailers", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Sum, Other")
			fmt.Fprint(w, "hello")
			w.Header().Set("Sum", "42")
			w.Header().Set("Undeclared", "x")
		}},
		{"undeclared trailers", "GET", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, strings.Repeat("x", 5000)) // beyond what net/http buffers
			w.Header().Set(http.TrailerPrefix+"Sum", "42")
		}},
		{"early hints", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("X", "1")
			w.WriteHeader(http.StatusAccepted)
		}},
	}
	for _, c := range cases {
		t.Run(c.explanation, func(t *testing.T) {
			outer := func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Outer", "1")
					w.Header().Set("Outer-2", "2")
					h.ServeHTTP(w, r)
				})
			}
			l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
			lock := httpmw.Lock(l, constant("7"), opts(), httpmw.WithVerified(10_000))
			want := send(t, serve(t, outer(c.handler)), c.method, "/", "")
			got := send(t, serve(t, outer(lock(c.handler))), c.method, "/", "")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("with WithVerified:\n%+v\nwithout:\n%+v", got, want)
			}
		})
	}
}

func TestVerifiedReplacesTheResponseOfALostLock(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"created": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/receipts/1")
			w.Header().Set("Outer", "changed")
			w.Header().Set("Content-Length", "5")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, "hello")
		},
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"its own":    func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusInternalServerError) },
		"too much":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 1001)) },
	}
	losses := map[string]func(t *testing.T, s *testkit.Store, r *http.Request){
		"noticed": func(_ *testing.T, s *testkit.Store, r *http.Request) {
			lease, _ := distlock.FromContext(r.Context())
			s.Memory().Drop(lease.Key())
			_ = lease.Refresh(r.Context()) // lost: what the test is about
			<-r.Context().Done()
		},
		"found by the release": func(t *testing.T, s *testkit.Store, _ *http.Request) { t.Helper(); s.Steal(t, keyOf(t, "7")) },
	}
	for how, lose := range losses {
		for what, respond := range answers {
			t.Run(how+"/"+what, func(t *testing.T) {
				s := testkit.NewStore()
				lock := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts(), httpmw.WithVerified(1000))
				h := lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					lose(t, s, r)
					respond(w, r)
				}))
				got := send(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Outer", "1")
					h.ServeHTTP(w, r)
				})), "GET", "/", "")
				wantProblem(t, got, lost, "")
				if got.header.Get("Outer") != "1" || got.header.Get("Location") != "" {
					t.Errorf("header %v", got.header)
				}
			})
		}
	}
}

func TestVerifiedNoticesWhatNobodyTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opts()
		o.MaxHold = time.Second
		h := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant("7"), o, httpmw.WithVerified(10))(
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				<-time.After(2 * time.Second) // does not look at its context
			}))
		wantProblem(t, record(h, httptest.NewRequest("GET", "/", nil)), lost, "")
	})
}

func TestVerifiedLetsStandWhatWasDoneUnderTheLock(t *testing.T) {
	s := testkit.NewStore()
	defer s.Fail(nil)
	l := testkit.NewLocker(t, s, distlock.Config{})
	h := httpmw.Lock(l, constant("7"), opts(), httpmw.WithVerified(10))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.Fail(errBroken, testkit.Release) // it cannot be given back, but it was held
		w.WriteHeader(http.StatusCreated)
	}))
	if got := record(h, httptest.NewRequest("GET", "/", nil)); got.status != http.StatusCreated {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestVerifiedLimit(t *testing.T) {
	want := internal
	want.Detail = "the response is too large"
	for _, c := range []struct {
		writes []int
		ok     bool
	}{
		{[]int{10}, true},
		{[]int{4, 6}, true},
		{[]int{10, 0}, true},
		{[]int{11}, false},
		{[]int{4, 7}, false},
		{[]int{11, 1}, false}, // once too much, always too much
	} {
		var last error
		h := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant("7"), opts(), httpmw.WithVerified(10))(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "11")
				for _, n := range c.writes {
					var wrote int
					if wrote, last = w.Write([]byte(strings.Repeat("x", n))); last == nil && wrote != n {
						t.Errorf("Write = %d of %d", wrote, n)
					}
				}
			}))
		got := record(h, httptest.NewRequest("GET", "/", nil))
		if c.ok && (got.status != http.StatusOK || got.body != "xxxxxxxxxx" || last != nil) {
			t.Errorf("%v: %d %s, %v", c.writes, got.status, got.body, last)
		}
		if !c.ok {
			wantProblem(t, got, want, "")
			if last == nil {
				t.Errorf("%v: the handler was not told", c.writes)
			}
		}
	}
}

func TestVerifiedHasNoWayAround(t *testing.T) {
	h := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant("7"), opts(), httpmw.WithVerified(10))(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			control := http.NewResponseController(w)
			if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Flush: %v", err)
			}
			if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
				t.Errorf("Hijack: %v", err)
			}
			if _, ok := w.(http.Flusher); ok {
				t.Error("it is a Flusher")
			}
			soon := time.Now().Add(time.Minute)
			if err := errors.Join(control.SetReadDeadline(soon), control.SetWriteDeadline(soon), control.EnableFullDuplex()); err != nil {
				t.Errorf("what does no harm: %v", err)
			}
		}))
	if got := send(t, serve(t, h), "GET", "/", ""); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestVerifiedRefusesStatusesThatAreNone(t *testing.T) {
	for _, status := range []int{0, 99, 1000} {
		s := testkit.NewStore()
		h := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts(), httpmw.WithVerified(10))(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d: no panic", status)
				}
			}()
			record(h, httptest.NewRequest("GET", "/", nil))
		}()
		if !s.Free(t, keyOf(t, "7")) {
			t.Errorf("%d: not released", status)
		}
	}
}

// TestVerifiedSendsAfterTheRelease shows that a slow client does not keep the lock.
func TestVerifiedSendsAfterTheRelease(t *testing.T) {
	s := testkit.NewStore()
	var released bool
	l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{
		Released: func(context.Context, distlock.ReleasedInfo) { released = true },
	}})
	h := httpmw.Lock(l, constant("7"), opts(), httpmw.WithVerified(10))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "x")
	}))
	h.ServeHTTP(&writeSpy{httptest.NewRecorder(), func() {
		if !released {
			t.Error("sent under the lock")
		}
	}}, httptest.NewRequest("GET", "/", nil))
}

type writeSpy struct {
	*httptest.ResponseRecorder
	before func()
}

func (s *writeSpy) WriteHeader(status int) {
	s.before()
	s.ResponseRecorder.WriteHeader(status)
}
