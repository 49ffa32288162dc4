package tusdlock_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tus/tusd/v2/pkg/filestore"
	"github.com/tus/tusd/v2/pkg/handler"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/examples/tusdlock"
	"github.com/distlock-go/distlock/internal/test/adaptertest"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

var adapter = adaptertest.Adapter{Name: "tusd", Key: "app:42", Open: func(l *distlock.Locker, o distlock.Opts) adaptertest.Run {
	locker := tusdlock.New(l, o)
	return func(ctx context.Context, job adaptertest.Job) error {
		lock, err := locker.NewLock("42")
		if err != nil {
			return err
		}
		ctx, lose := context.WithCancelCause(ctx)
		defer lose(nil)
		locking, end := context.WithCancel(ctx)
		err = lock.Lock(locking, func() { lose(distlock.ErrLost) }) // tusd learns no reason
		end()                                                       // as tusd does
		if err == nil {
			return errors.Join(job(ctx), lock.Unlock())
		}
		if lock.Unlock() == nil {
			return errors.New("Unlock without the lock succeeds")
		}
		return err
	}
}}

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // tusd logs each request
	adaptertest.Main(m, adapter)
}

func TestAdapter(t *testing.T) { adaptertest.Test(t, adapter) }

// pair returns the locks of two requests for an upload. The first one has it until the
// test ends, and asked reports whether it was asked to end.
func pair(t *testing.T, l *distlock.Locker) (second handler.Lock, asked func() bool) {
	t.Helper()
	locker := tusdlock.New(l, distlock.Opts{})
	first, err := locker.NewLock("42")
	if err != nil {
		t.Fatal(err)
	}
	asking := make(chan bool, 1)
	testkit.WantIs(t, first.Lock(t.Context(), func() { asking <- true }))
	t.Cleanup(func() { testkit.WantIs(t, first.Unlock()) })
	second, err = locker.NewLock("42")
	if err != nil {
		t.Fatal(err)
	}
	return second, func() bool { synctest.Wait(); return len(asking) > 0 }
}

// TestShortDeadline: a request whose time ends in its first attempt asks the holder all
// the same, because the client comes again. With more time it waits for all of it.
func TestShortDeadline(t *testing.T) {
	for _, d := range []time.Duration{0, time.Nanosecond, 20 * time.Second} {
		testkit.Bubble(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
			second, asked := pair(t, l)
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			start := time.Now()
			if err := second.Lock(ctx, func() {}); !errors.Is(err, handler.ErrLockTimeout) || !asked() {
				t.Errorf("after %v: %v, asked: %t", d, err, asked())
			}
			testkit.WantTook(t, start, d)
		})
	}
}

// TestNoRevoker: a store that cannot ask its holders does not let requests wait in
// vain.
func TestNoRevoker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second, asked := pair(t, testkit.NewLocker(t, testkit.NewStore().Only(0), distlock.Config{}))
		if err := second.Lock(t.Context(), func() {}); !errors.Is(err, errors.ErrUnsupported) || asked() {
			t.Errorf("%v, asked: %t", err, asked())
		}
	})
}

// server handles requests as tusd's own handler does.
func server(t *testing.T, l *distlock.Locker, dir string) http.Handler {
	t.Helper()
	composer := handler.NewStoreComposer()
	filestore.New(dir).UseIn(composer)
	tusdlock.New(l, distlock.Opts{Prefix: "upload:"}).UseIn(composer)
	h, err := handler.NewUnroutedHandler(handler.Config{StoreComposer: composer, BasePath: "/"})
	if err != nil {
		t.Fatal(err)
	}
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

// do has a server handle a request of the tus protocol.
func do(t *testing.T, h http.Handler, method, path string, body io.Reader, header, value string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel() // as a server does, when it has answered
	w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, path, body)
	r.Header.Set("Tus-Resumable", "1.0.0")
	r.Header.Set("Content-Type", "application/offset+octet-stream")
	r.Header.Set(header, value)
	h.ServeHTTP(w, r)
	return w
}

// TestResume resumes an upload at another server, and at the same one, while the first
// request is open. That one is asked to end, and its client is told so.
func TestResume(t *testing.T) {
	for _, method := range []string{http.MethodHead, http.MethodPatch} {
		synctest.Test(t, func(t *testing.T) {
			store, dir := memlock.New(), t.TempDir()
			one := server(t, testkit.NewLocker(t, store, distlock.Config{}), dir)
			two := server(t, testkit.NewLocker(t, store, distlock.Config{}), dir)
			upload := "/" + filepath.Base(do(t, one, http.MethodPost, "/", nil, "Upload-Length", "15").Header().Get("Location"))
			for i, h := range []http.Handler{two, one} {
				offset, next := strconv.Itoa(5*i), strconv.Itoa(5*i+5)
				body, client := io.Pipe()
				open := make(chan *httptest.ResponseRecorder, 1)
				go func() { open <- do(t, one, http.MethodPatch, upload, body, "Upload-Offset", offset) }()
				if _, err := io.WriteString(client, "12345"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				start := time.Now()
				if method == http.MethodHead {
					if w := do(t, h, method, upload, nil, "Accept", "*"); w.Code != http.StatusOK || w.Header().Get("Upload-Offset") != next {
						t.Errorf("HEAD: %d, offset %s", w.Code, w.Header().Get("Upload-Offset"))
					}
				} else if w := do(t, h, method, upload, strings.NewReader(""), "Upload-Offset", next); w.Code != http.StatusNoContent {
					t.Errorf("PATCH: %d %s", w.Code, w.Body)
				}
				testkit.WantTook(t, start, 0)
				if w := <-open; w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "ERR_UPLOAD_INTERRUPTED") {
					t.Errorf("the PATCH that was open: %d %s", w.Code, w.Body)
				}
			}
			time.Sleep(time.Minute) // the contexts of tusd end ten seconds late
		})
	}
}
