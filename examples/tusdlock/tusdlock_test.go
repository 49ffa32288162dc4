package tusdlock_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/jobkey"
	"github.com/distlock-go/distlock/examples/tusdlock"
	"github.com/distlock-go/distlock/internal/test/child"
	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const lease = 2 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // tusd logs each request
	testkit.BeChild(map[string]func(*testkit.Child) error{"server": beServer})
	os.Exit(m.Run())
}

// server is a tusd with its own Locker.
func server(b driver.Backend, dir string) (*handler.UnroutedHandler, *distlock.Locker, error) {
	l := distlock.New(b, distlock.Config{})
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	tusdlock.New(l, distlock.Opts{Prefix: "upload:", KeyTimeout: lease}).UseIn(composer)
	h, err := handler.NewUnroutedHandler(handler.Config{StoreComposer: composer, BasePath: "/"})
	return h, l, err
}

// serve handles a request as tusd's own handler does.
func serve(h *handler.UnroutedHandler) http.Handler {
	return h.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodPost:
			h.PostFile(w, r)
		case http.MethodHead:
			h.HeadFile(w, r)
		case http.MethodPatch:
			h.PatchFile(w, r)
		}
	}))
}

// call makes a request of the tus protocol.
func call(t *testing.T, method, to string, body io.Reader, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, to, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Tus-Resumable", "1.0.0")
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// servers are two servers with one store of locks and one directory, without a network.
type servers struct {
	*testing.T

	handlers []http.Handler
	lockers  []*distlock.Locker
	upload   string // its path
}

// start starts the servers, with an upload of ten bytes.
func start(t *testing.T, b driver.Backend) *servers {
	t.Helper()
	s, dir := &servers{T: t}, t.TempDir()
	for range 2 {
		h, l, err := server(b, dir)
		if err != nil {
			t.Fatal(err)
		}
		s.handlers, s.lockers = append(s.handlers, serve(h)), append(s.lockers, l)
	}
	created := s.do(0, http.MethodPost, "/", nil, "Upload-Length", "10")
	_, id, _ := strings.Cut(created.Header().Get("Location"), "example.com/")
	s.upload = "/" + id
	return s
}

// do has one of the servers handle a request.
func (s *servers) do(i int, method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel() // as a server does, when it has answered
	w, r := httptest.NewRecorder(), call(s.T, method, "http://example.com"+path, body, header...)
	s.handlers[i].ServeHTTP(w, r.WithContext(ctx))
	return w
}

// begin begins to upload five bytes to the first server. The connection stays open.
func (s *servers) begin() (answer <-chan *httptest.ResponseRecorder) {
	s.Helper()
	body, client := io.Pipe()
	c := make(chan *httptest.ResponseRecorder, 1)
	go func() { c <- s.do(0, http.MethodPatch, s.upload, body, "Upload-Offset", "0") }()
	if _, err := io.WriteString(client, "12345"); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
	return c
}

// close closes the lockers, and waits for the contexts of tusd, which end ten seconds late.
func (s *servers) close() {
	for _, l := range s.lockers {
		if err := l.Close(); err != nil {
			s.Error(err)
		}
	}
	time.Sleep(time.Minute)
}

// TestResume resumes an upload at the other server, and at the same one, while the first
// request is open: that is asked to end, and is told so. The second one is not.
func TestResume(t *testing.T) {
	for other := range 2 {
		for _, method := range []string{http.MethodHead, http.MethodPatch} {
			synctest.Test(t, func(t *testing.T) {
				s := start(t, memlock.New())
				defer s.close()
				first, before := s.begin(), time.Now()
				if method == http.MethodHead {
					if w := s.do(other, http.MethodHead, s.upload, nil); w.Code != http.StatusOK || w.Header().Get("Upload-Offset") != "5" {
						t.Errorf("HEAD: %d, offset %s", w.Code, w.Header().Get("Upload-Offset"))
					}
				}
				if w := s.do(other, http.MethodPatch, s.upload, strings.NewReader("67890"), "Upload-Offset", "5"); w.Code != http.StatusNoContent {
					t.Errorf("PATCH: %d %s", w.Code, w.Body)
				}
				if waited := time.Since(before); waited != 0 {
					t.Errorf("it waited %v", waited)
				}
				interrupted(t, <-first)
			})
		}
	}
}

func interrupted(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "ERR_UPLOAD_INTERRUPTED") {
		t.Errorf("the PATCH that was open: %d %s", w.Code, w.Body)
	}
}

// TestLoss: a request whose lock is lost ends.
func TestLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, memlock.New())
		defer s.close()
		first := s.begin()
		if held, err := admin.ForceRelease(t.Context(), s.lockers[1], "upload:"+jobkey.Of(s.upload[1:])); !held || err != nil {
			t.Fatal(held, err)
		}
		interrupted(t, <-first)
	})
}

// TestTimeout: a request waits as long as tusd lets it for a holder that does not listen.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, memlock.New())
		defer s.close()
		held := testkit.MustAcquire(t, s.lockers[0], "upload:"+jobkey.Of(s.upload[1:]), distlock.Opts{})
		before := time.Now()
		w := s.do(1, http.MethodPatch, s.upload, strings.NewReader("12345"), "Upload-Offset", "0")
		if waited := time.Since(before); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "ERR_LOCK_TIMEOUT") || waited != 20*time.Second {
			t.Errorf("after %v: %d %s", waited, w.Code, w.Body)
		}
		if err := held.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if w := s.do(1, http.MethodPatch, s.upload, strings.NewReader("12345"), "Upload-Offset", "0"); w.Code != http.StatusNoContent {
			t.Errorf("PATCH: %d %s", w.Code, w.Body)
		}
	})
}

// TestNoRevoker: a store that cannot ask its holders does not let requests wait in vain.
func TestNoRevoker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := distlock.New(testkit.NewStore().Only(0), distlock.Config{})
		defer l.Close()
		locker := tusdlock.New(l, distlock.Opts{Prefix: "upload:"})
		first, _ := locker.NewLock("42")
		second, _ := locker.NewLock("42")
		if err := first.Lock(t.Context(), func() { t.Error("asked") }); err != nil {
			t.Error(err)
		}
		if err := second.Lock(t.Context(), func() {}); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("the second one: %v", err)
		}
		if err := first.Unlock(); err != nil {
			t.Error(err)
		}
	})
}

// TestKilled resumes an upload at another process, which is asked through Redis, and once more
// when that process was killed in the middle.
func TestKilled(t *testing.T) {
	redis, dir := redistest.Start(t), t.TempDir()
	var urls []string
	var processes []*testkit.Process
	for range 2 {
		p := testkit.StartChild(t, "server", order{redis.Addr(), dir})
		var addr string
		p.Hear("at", &addr)
		processes, urls = append(processes, p), append(urls, "http://"+addr)
	}
	do := func(i int, method, path string, body io.Reader, header ...string) (answer, error) {
		r, err := http.DefaultClient.Do(call(t, method, urls[i]+path, body, header...))
		if err != nil {
			return answer{}, err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		return answer{r.StatusCode, r.Header, string(text)}, err
	}
	must := func(code int) func(answer, error) http.Header {
		return func(a answer, err error) http.Header {
			t.Helper()
			if err != nil || a.code != code {
				t.Fatalf("%d %s, want %d: %v", a.code, a.text, code, err)
			}
			return a.header
		}
	}
	created := must(http.StatusCreated)(do(0, http.MethodPost, "/", nil, "Upload-Length", "10"))
	path := "/" + filepath.Base(created.Get("Location"))
	content := func() string {
		text, _ := os.ReadFile(filepath.Join(dir, path)) //nolint:gosec // a test
		return string(text)
	}
	// begin begins to upload text to a server. The connection stays open.
	begin := func(i int, text string) (client *io.PipeWriter, answered chan error) {
		t.Helper()
		body, client := io.Pipe()
		before := content()
		answered = make(chan error, 1)
		go func() {
			a, err := do(i, http.MethodPatch, path, body, "Upload-Offset", strconv.Itoa(len(before)))
			if err == nil {
				err = errors.New(a.text)
			}
			answered <- err
		}()
		if _, err := io.WriteString(client, text); err != nil {
			t.Fatal(err)
		}
		child.Await(t, "nothing was written", func() bool { return content() == before+text })
		return client, answered
	}

	_, first := begin(0, "1234")
	before := time.Now()
	if h := must(http.StatusOK)(do(1, http.MethodHead, path, nil)); h.Get("Upload-Offset") != "4" {
		t.Errorf("the offset is %s", h.Get("Upload-Offset"))
	}
	t.Logf("the other process was asked, and ended, in %v", time.Since(before))
	if err := <-first; !strings.Contains(err.Error(), "ERR_UPLOAD_INTERRUPTED") {
		t.Errorf("the first PATCH: %v", err)
	}

	client, second := begin(1, "567")
	processes[1].Kill()
	before = time.Now()
	if h := must(http.StatusOK)(do(0, http.MethodHead, path, nil)); h.Get("Upload-Offset") != "7" {
		t.Errorf("the offset is %s", h.Get("Upload-Offset"))
	}
	waited := time.Since(before)
	t.Logf("killed: the upload could be resumed after %v, with a lease of %v", waited, lease)
	if waited > lease+testkit.Patience {
		t.Error("that is too long")
	}
	_ = client.Close()
	if err := <-second; !errors.As(err, new(*url.Error)) {
		t.Errorf("the process that was killed has answered: %v", err)
	}
	must(http.StatusNoContent)(do(0, http.MethodPatch, path, strings.NewReader("890"), "Upload-Offset", "7"))
	if got := content(); got != "1234567890" {
		t.Errorf("the upload is %q", got)
	}
}

// answer is one of a server.
type answer struct {
	code   int
	header http.Header
	text   string
}

// order is what a child process gets.
type order struct{ Redis, Dir string }

// beServer is a process with a tusd.
func beServer(c *testkit.Child) error {
	var o order
	if err := c.Decode(&o); err != nil {
		return err
	}
	h, _, err := server(redislock.New(redis.NewClient(&redis.Options{Addr: o.Redis}), redislock.Config{}), o.Dir)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.Say("at", listener.Addr())
	return http.Serve(listener, serve(h)) //nolint:gosec // a test
}
