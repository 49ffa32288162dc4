package httpmw_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/fence"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestAnswersAsNetHTTPDoes sends the same request to a handler with and without the
// middleware.
func TestAnswersAsNetHTTPDoes(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"nothing":       func(http.ResponseWriter, *http.Request) {},
		"only a status": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) },
		"only a body":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hi") },
		"an empty write": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(nil)
			w.WriteHeader(http.StatusTeapot) // too late
		},
		"a status twice": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusTeapot) // superfluous
			w.Header().Set("Late", "yes")
			fmt.Fprint(w, "a")
		},
		"204 with a body": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNoContent)
			if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
				panic(err)
			}
		},
		"a long body in pieces": func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				fmt.Fprint(w, strings.Repeat("x", 1000))
				w.(http.Flusher).Flush()
			}
		},
		"trailers": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "Sum")
			fmt.Fprint(w, strings.Repeat("x", 5000)) // beyond what net/http buffers
			w.Header().Set("Sum", "42")
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
		},
		"a form": func(_ http.ResponseWriter, r *http.Request) {
			r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
			r.Body = io.NopCloser(strings.NewReader("--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\nx\r\n--b--\r\n"))
			if err := r.ParseMultipartForm(0); err != nil {
				panic(err)
			}
		},
		"hijacked": func(w http.ResponseWriter, _ *http.Request) {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = rw.WriteString("HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\nhi")
			_ = rw.Flush()
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Cleanup(func() { // the servers are closed
				if files, err := filepath.Glob(dir + "/*"); len(files) > 0 || err != nil {
					t.Errorf("files stay on the disk: %q, %v", files, err)
				}
			})
			outer := func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Outer", "1")
					h.ServeHTTP(w, r)
				})
			}
			lock := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant("7"), opts())
			want := send(t, serve(t, outer(handler)), "GET", "/", "")
			if got := send(t, serve(t, outer(httpmw.ReceiveTickets(fence.Unsigned)(lock(handler)))), "GET", "/", ""); !reflect.DeepEqual(got, want) {
				t.Errorf("with a lock:\n%+v\nwithout:\n%+v", got, want)
			}
		})
	}
}

// loseLease has the lease of a request found lost.
func loseLease(t *testing.T, s *testkit.Store, r *http.Request) {
	t.Helper()
	lease, _ := distlock.FromContext(r.Context())
	s.Memory().Drop(lease.Key())
	if err := lease.Refresh(r.Context()); !errors.Is(err, distlock.ErrLost) {
		t.Errorf("Refresh: %v", err)
	}
	<-r.Context().Done()
}

// TestNoSuccessAfterALoss: whatever way a success begins, the client learns that the lock was
// lost, and nothing else that the handler has prepared.
func TestNoSuccessAfterALoss(t *testing.T) {
	wantErr := func(err error) {
		if !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the handler is told %v", err)
		}
	}
	for name, respond := range map[string]http.HandlerFunc{
		"nothing":    func(http.ResponseWriter, *http.Request) {},
		"no content": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
		"a body":     func(w http.ResponseWriter, _ *http.Request) { _, err := fmt.Fprint(w, "paid"); wantErr(err) },
		"a reader": func(w http.ResponseWriter, _ *http.Request) {
			_, err := io.Copy(w, bufio.NewReader(strings.NewReader("paid")))
			wantErr(err)
		},
		"a flush": func(w http.ResponseWriter, _ *http.Request) { wantErr(http.NewResponseController(w).Flush()) },
		"a websocket": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if wantErr(err); err == nil {
				conn.Close()
			}
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusOK)
		},
		"created": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusForbidden) // superfluous
			_, err := fmt.Fprint(w, "hello")
			wantErr(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.NewStore()
			lock := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts())
			h := lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", "/receipts/1")
				w.Header().Set("Outer", "changed")
				loseLease(t, s, r)
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

// TestUnsupported: what a server cannot do begins no answer, and ends none.
func TestUnsupported(t *testing.T) {
	type plain struct{ http.ResponseWriter } // cannot flush, nor be hijacked
	for name, c := range map[string]struct{ before, after, want string }{
		"nothing was written":     {"", "paid", "the lock was lost"},
		"the answer was begun":    {"part", " of it", "part of it"},
		"the answer was complete": {"all", "", "all"},
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.NewStore()
			lock := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts())
			h := lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.before != "" {
					_, _ = io.WriteString(w, c.before)
				}
				_ = http.NewResponseController(w).Flush()
				if _, _, err := http.NewResponseController(w).Hijack(); !errors.Is(err, errors.ErrUnsupported) {
					t.Errorf("hijacked: %v", err)
				}
				loseLease(t, s, r)
				_, _ = io.WriteString(w, c.after)
			}))
			got := httptest.NewRecorder()
			h.ServeHTTP(plain{got}, httptest.NewRequest("GET", "/", nil))
			if body := got.Body.String(); !strings.Contains(body, c.want) || c.before != "" && body != c.want {
				t.Errorf("%d %q", got.Code, body)
			}
		})
	}
}

// TestLossThatTheHandlerAnswers: an error of the request is the handler's own, and so is what
// has begun before the loss was known.
func TestLossThatTheHandlerAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		after   int // status, after the loss
		unknown bool
		want    int
	}{
		"101":                     {after: http.StatusSwitchingProtocols, want: http.StatusFailedDependency},
		"399":                     {after: 399, want: http.StatusFailedDependency},
		"400":                     {after: 400, want: 400},
		"499":                     {after: 499, want: 499},
		"500":                     {after: 500, want: http.StatusFailedDependency},
		"500 before the news":     {after: 500, unknown: true, want: 500},
		"written before the news": {after: http.StatusCreated, unknown: true, want: http.StatusCreated},
		"nothing written":         {unknown: true, want: http.StatusFailedDependency}, // the release finds out
	} {
		t.Run(name, func(t *testing.T) {
			s := testkit.NewStore()
			h := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c.unknown {
					s.Steal(t, keyOf(t, "7"))
				} else {
					loseLease(t, s, r)
				}
				if c.after != 0 {
					w.WriteHeader(c.after)
				}
			}))
			if got := record(h, httptest.NewRequest("GET", "/", nil)); got.status != c.want {
				t.Errorf("answer %d %s, want %d", got.status, got.body, c.want)
			}
		})
	}
}

// TestReleasedIsNotLost: a handler may give the lock back before it answers, and a release
// that fails is no loss.
func TestReleasedIsNotLost(t *testing.T) {
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	for name, during := range map[string]func(ctx context.Context){
		"given back early": func(ctx context.Context) {
			lease, _ := distlock.FromContext(ctx)
			_ = lease.Release(ctx)
		},
		"cannot be given back": func(context.Context) { s.Fail(errBroken, testkit.Release) },
	} {
		h := httpmw.Lock(l, constant("7"), opts())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			during(r.Context())
			if r.Method == "POST" {
				w.WriteHeader(http.StatusCreated)
			}
		}))
		for method, want := range map[string]int{"GET": http.StatusOK, "POST": http.StatusCreated} {
			if got := record(h, httptest.NewRequest(method, "/", nil)); got.status != want {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
			s.Fail(nil)
			s.Memory().Drop(keyOf(t, "7"))
		}
	}
}
