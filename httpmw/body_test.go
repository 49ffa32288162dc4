package httpmw_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var tooLarge = problem(http.StatusRequestEntityTooLarge, httpmw.TypeBodyTooLarge, "Request body too large", "the body is too large")

func TestTheHandlerFindsTheBodyAsItWas(t *testing.T) {
	body := ` {"id" : "7", "pad":"` + strings.Repeat("x", 100_000) + "\"}\r\n "
	field := httpmw.JSONField("id", int64(len(body)))
	l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
	for name, lock := range map[string]middleware{
		"JSONField":     httpmw.Lock(l, field, opts()),
		"WithBodyFirst": httpmw.Lock(l, constant("7"), opts(), httpmw.WithBodyFirst(math.MaxInt64)),
		"both":          httpmw.Lock(l, field, opts(), httpmw.WithBodyFirst(int64(len(body)))),
	} {
		for _, chunked := range []bool{false, true} {
			srv := serve(t, lock(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, err := io.ReadAll(r.Body)
				if err != nil || string(got) != body {
					t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(body), err)
				}
				if err := r.Body.Close(); err != nil {
					t.Errorf("%s: Close: %v", name, err)
				}
				if chunked != (r.ContentLength < 0) || chunked && r.Trailer.Get("Sum") != "42" {
					t.Errorf("%s: ContentLength %d, Trailer %v", name, r.ContentLength, r.Trailer)
				}
			})))
			var rd io.Reader = strings.NewReader(body)
			if chunked {
				rd = struct{ io.Reader }{rd}
			}
			r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL, rd)
			if err != nil {
				t.Fatal(err)
			}
			if chunked {
				r.Trailer = http.Header{"Sum": {"42"}}
			}
			resp, err := srv.Client().Do(r)
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp, err)
			}
			resp.Body.Close()
		}
		r := httptest.NewRequest("POST", "/", nil)
		r.Body = nil // as http.NewRequest makes it
		h := lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.Body) }))
		if got := record(h, r); (got.body == "<nil>") != (name == "WithBodyFirst") {
			t.Errorf("%s, no body: %d %s", name, got.status, got.body)
		}
	}
}

func TestLargeBodies(t *testing.T) {
	body := `{"id":"7"}`
	s := testkit.NewStore()
	l := testkit.NewLocker(t, s, distlock.Config{})
	for _, limit := range []int64{int64(len(body)), int64(len(body) - 1)} {
		for name, lock := range map[string]middleware{
			"JSONField":          httpmw.Lock(l, httpmw.JSONField("id", limit), opts()),
			"WithBodyFirst":      httpmw.Lock(l, constant("7"), opts(), httpmw.WithBodyFirst(limit)),
			"the smaller of two": httpmw.Lock(l, httpmw.JSONField("id", 0), opts(), httpmw.WithBodyFirst(limit)),
			"another's limit": func(h http.Handler) http.Handler {
				return http.MaxBytesHandler(httpmw.Lock(l, httpmw.JSONField("id", 0), opts())(h), limit)
			},
		} {
			for _, length := range []int64{int64(len(body)), -1} {
				r := httptest.NewRequest("POST", "/", strings.NewReader(body))
				r.ContentLength = length
				if limit == int64(len(body)) {
					if got := record(lock(http.NotFoundHandler()), r); got.status != http.StatusNotFound {
						t.Errorf("%s: exactly the limit: %d %s", name, got.status, got.body)
					}
					continue
				}
				want := tooLarge
				if name == "another's limit" {
					want.Detail = "the body could not be read"
				}
				wantProblem(t, record(lock(never(t)), r), want, "")
			}
		}
	}
	if got := len(s.Attempts()); got != 8 { // of each lock for both lengths
		t.Errorf("%d attempts", got)
	}
}

// TestBodiesThatWait: what others keep in memory while they wait is limited, whatever reads it;
// a body that has its lock, or has given up, does not count.
func TestBodiesThatWait(t *testing.T) {
	const size = 8 << 20
	body := `{"id":"7","x":"` + strings.Repeat("x", size-17) + `"}`
	reads := func(r *http.Request) (any, error) {
		data, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(data))
		return "7", err
	}
	for name, key := range map[string]httpmw.KeyFunc{"JSONField": httpmw.JSONField("id", size), "WithBodyFirst": constant("7"), "a KeyFunc": reads} {
		synctest.Test(t, func(t *testing.T) {
			o := opts()
			o.RetryCount, o.MaxWait = 0, time.Minute
			held, leave := make(chan bool), make(chan bool)
			h := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), key, o, httpmw.WithBodyFirst(size))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				held <- true
				<-leave
				if n, err := io.Copy(io.Discard, r.Body); n != int64(len(body)) || err != nil {
					t.Errorf("%s: the body has %d bytes: %v", name, n, err)
				}
			}))
			statuses := make(chan int, 20)
			post := func() { statuses <- record(h, httptest.NewRequest("POST", "/", strings.NewReader(body))).status }
			go post()
			<-held        // and its body does not count
			for range 9 { // eight of others fill the limit, and the next one is above it
				go post()
				synctest.Wait()
			}
			if len(statuses) > 0 {
				t.Fatalf("%s: nine bodies: %d", name, <-statuses)
			}
			wantProblem(t, record(h, httptest.NewRequest("POST", "/", strings.NewReader(body))), queueFull, "1")
			for range 9 { // they give up
				if got := <-statuses; got != http.StatusConflict {
					t.Errorf("%s: after the wait: %d", name, got)
				}
			}
			go post()
			synctest.Wait()
			leave <- true
			<-held
			leave <- true
			for range 2 {
				if got := <-statuses; got != http.StatusOK {
					t.Errorf("%s: later: %d", name, got)
				}
			}
		})
	}
}

// What a handler reads does not wait, also if a KeyFunc has put another body in the place of one
// that it has not read.
func TestWhatAHandlerReadsDoesNotCount(t *testing.T) {
	path := func(r *http.Request) (any, error) {
		r.Body = io.NopCloser(r.Body)
		return r.URL.Path, nil
	}
	var h http.Handler
	h = httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), path, opts())(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Errorf("%s: %v after %d bytes", r.URL.Path, err, n)
		}
		if r.URL.Path == "/large" { // it has more than all that wait may have
			record(h, httptest.NewRequest("POST", "/small", strings.NewReader("x")))
		}
	}))
	record(h, httptest.NewRequest("POST", "/large", strings.NewReader(strings.Repeat("x", 65<<20))))
}

// A refusal does not wait for the body: a client with Expect: 100-continue may keep it back for
// ever.
func TestARefusalDoesNotWaitForTheBody(t *testing.T) {
	lock := httpmw.Lock(testkit.NewLocker(t, testkit.NewStore(), distlock.Config{}), constant(nil), opts())
	conn, err := net.Dial("tcp", serve(t, lock(never(t))).Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
	if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, " 400 ") {
		t.Errorf("%q, %v", line, err)
	}
}

// A client that sends half of a body, or nothing on a connection that was hijacked, does not keep
// the lock of a handler that waits for it.
func TestALossEndsReads(t *testing.T) {
	s := testkit.NewStore()
	inside, ended := make(chan *http.Request), make(chan error, 1)
	lock := httpmw.Lock(testkit.NewLocker(t, s, distlock.Config{}), constant("7"), opts())
	srv := serve(t, lock(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == "GET" {
			conn, _, err := w.(http.Hijacker).Hijack()
			inside <- r
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
				_ = conn.Close()
			}
			ended <- err
			return
		}
		inside <- r
		_, err := io.ReadAll(r.Body)
		httpmw.WriteError(w, r, err)
		ended <- err
	})))
	for method, want := range map[string]error{"POST": distlock.ErrLost, "GET": os.ErrDeadlineExceeded} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(conn, method+" / HTTP/1.1\r\nHost: shop\r\nContent-Length: 9\r\n\r\n{")
		loseLease(t, s, <-inside)
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("%s: the handler read %v", method, err)
		}
		if line, err := bufio.NewReader(conn).ReadString('\n'); method == "POST" && !strings.Contains(line, " 424 ") {
			t.Errorf("%q, %v", line, err)
		}
	}
}

// TestARefusedBodyIsWhole is for KeyFuncs that try something else after an error.
func TestARefusedBodyIsWhole(t *testing.T) {
	body := strings.Repeat("x", 100)
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.ContentLength = -1
	var large *http.MaxBytesError
	if _, err := httpmw.JSONField("id", 10)(r); !errors.As(err, &large) || large.Limit != 10 {
		t.Errorf("err = %v", err)
	}
	if got, err := io.ReadAll(r.Body); string(got) != body || err != nil {
		t.Errorf("left: %q, %v", got, err)
	}

	if _, err := httpmw.JSONField("id", 0)(httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat("x", 64<<10+1)))); !errors.As(err, &large) || large.Limit != 64<<10 {
		t.Errorf("err = %v", err)
	}

	broken := errors.New("broken")
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)))
	if _, err := httpmw.JSONField("id", 0)(r); !errors.Is(err, broken) || !errors.Is(err, distlock.ErrKey) {
		t.Errorf("err = %v", err)
	}
	if got, err := io.ReadAll(r.Body); string(got) != "abc" || !errors.Is(err, broken) {
		t.Errorf("left: %q, %v", got, err)
	}

	// A body that was read in part is not taken for the whole.
	r.Body = io.NopCloser(bytes.NewBufferString(`{"id":"7"}`))
	key := httpmw.JSONField("id", 0)
	if _, err := key(r); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got, err := key(r); !errors.Is(err, distlock.ErrKey) {
		t.Errorf("%v, %v", got, err)
	}
}

// countedBody counts how often it is closed.
type countedBody struct {
	io.Reader
	closed int
}

func (b *countedBody) Close() error { b.closed++; return errBroken }

// TestTheBodyIsClosedByTheHandlerAlone: the body that replaces it passes on the call
// and its result.
func TestTheBodyIsClosedByTheHandlerAlone(t *testing.T) {
	for name, limit := range map[string]int64{"whole": 100, "too large": 1} {
		body := &countedBody{Reader: strings.NewReader(`{"id":"7"}`)}
		r := httptest.NewRequest("POST", "/", body)
		r.ContentLength = -1
		_, _ = httpmw.JSONField("id", limit)(r)
		if body.closed != 0 {
			t.Errorf("%s: closed %d times before the handler", name, body.closed)
		}
		if err := r.Body.Close(); !errors.Is(err, errBroken) || body.closed != 1 {
			t.Errorf("%s: Close: %v, closed %d times", name, err, body.closed)
		}
	}
}

// TestAClientThatLeavesGivesUpItsPlace is about a real disconnect, which net/http
// notices only once the body was read.
func TestAClientThatLeavesGivesUpItsPlace(t *testing.T) {
	s := testkit.NewStore()
	held := hold(t, s, keyOf(t, "7"))
	o := opts()
	o.RetryCount = 0
	l := testkit.NewLocker(t, s, distlock.Config{})
	mux := http.NewServeMux()
	mux.Handle("GET /bare", httpmw.Lock(l, constant("7"), o)(never(t)))
	mux.Handle("POST /first", httpmw.Lock(l, constant("7"), o, httpmw.WithBodyFirst(100))(never(t)))
	mux.Handle("POST /json", httpmw.Lock(l, httpmw.JSONField("id", 0), o)(never(t)))
	returned := make(chan bool)
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r)
		returned <- true
	}))
	for i, c := range [][2]string{{"GET", "/bare"}, {"POST", "/first"}, {"POST", "/json"}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, c[0], srv.URL+c[1], strings.NewReader(`{"id":"7"}`))
		if err != nil {
			t.Fatal(err)
		}
		if c[0] == "GET" {
			r.Body, r.ContentLength = http.NoBody, 0
		}
		left := make(chan error)
		go func() {
			resp, err := srv.Client().Do(r)
			if err == nil {
				resp.Body.Close()
			}
			left <- err
		}()
		testkit.Eventually(t, "the request waits", func() bool { return len(s.Calls(testkit.Enqueue)) == i+1 })
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c[1], err)
		}
		<-returned // or the test hangs
	}
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil { // waits for what is given up in the background
		t.Fatal(err)
	}
	if got := s.Attempts(); !slices.Equal(got, slices.Repeat([]string{keyOf(t, "7")}, 3)) {
		t.Errorf("they waited for %q", got)
	}
	if !s.Free(t, keyOf(t, "7")) {
		t.Error("somebody got the lock who had left")
	}
}
