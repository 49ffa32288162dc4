package tusdlock_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/examples/jobkey"
	"github.com/distlock-go/distlock/examples/tusdlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const lease = 2 * time.Second

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // tusd logs each request
	os.Exit(m.Run())
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
		l, composer := distlock.New(b, distlock.Config{}), handler.NewStoreComposer()
		filestore.New(dir).UseIn(composer)
		tusdlock.New(l, distlock.Opts{Prefix: "upload:", KeyTimeout: lease}).UseIn(composer)
		h, err := handler.NewUnroutedHandler(handler.Config{StoreComposer: composer, BasePath: "/"})
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

// do has one of the servers handle a request of the tus protocol.
func (s *servers) do(i int, method, path string, body io.Reader, header ...string) *httptest.ResponseRecorder {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel() // as a server does, when it has answered
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, "http://example.com"+path, body)
	r.Header.Set("Tus-Resumable", "1.0.0")
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	s.handlers[i].ServeHTTP(w, r)
	return w
}

// begin begins to upload five bytes to the first server, which may crash. The connection stays
// open.
func (s *servers) begin() (answer <-chan *httptest.ResponseRecorder) {
	s.Helper()
	body, client := io.Pipe()
	c := make(chan *httptest.ResponseRecorder, 1)
	go func() { c <- s.do(0, http.MethodPatch, s.upload, body, "Upload-Offset", "0") }()
	if _, err := io.WriteString(client, "12345"); err != nil {
		s.Fatal(err)
	}
	synctest.Wait()
	if held, err := admin.Inspect(s.Context(), s.lockers[1], "upload:", 1); err != nil || len(held) != 1 || held[0].Holders[0].ExpiresIn > lease {
		s.Fatal(held, err)
	}
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
