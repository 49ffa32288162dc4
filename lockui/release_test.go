package lockui_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

const form = "application/x-www-form-urlencoded"

// anyone may release any key.
func anyone(*http.Request, string) error { return nil }

// release tries to release a key, and checks the answer.
func (s *site) release(status int, key, detail string, header ...string) {
	s.Helper()
	header = append([]string{"Content-Type", form}, header...)
	s.wantProblem(s.send("POST", "/release", "key="+url.QueryEscape(key), header...), status, detail)
}

func TestRelease(t *testing.T) {
	var asked []string
	authorize := func(r *http.Request, key string) error {
		if r.Header.Get("User") != "ann" {
			return errors.New("the secret reason")
		}
		asked = append(asked, r.Header.Get("Sec-Fetch-Site")+" "+key)
		return nil
	}
	bubble(t, func(s *site) {
		if !s.list("/").CanRelease {
			t.Error("can_release is false")
		}
		lease := s.hold("shop:a", distlock.Opts{})
		s.release(http.StatusForbidden, "shop:a", "this request may not release the key", "User", "eve")
		if err := lease.Check(); err != nil {
			t.Error(err)
		}
		for i, site := range []string{"", "same-origin"} { // the first is not a browser
			header := []string{"Content-Type", form + "; charset=utf-8", "User", "ann", "Accept", "*/*"}
			if site != "" {
				header = append(header, "Sec-Fetch-Site", site, "Origin", "http://shop.example")
			}
			got := s.send("POST", "/release", "key=shop%3Aa", header...)
			want := fmt.Sprintf(`{"key":"shop:a","held":%v}`+"\n", i == 0)
			if got.status != http.StatusOK || got.body != want || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		if err := lease.Release(s.Context()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the holder's release: %v", err)
		}
		if got := strings.Join(asked, ","); got != " shop:a,same-origin shop:a" {
			t.Errorf("asked for %s", got)
		}

		// A client that leaves does not leave the outcome in doubt.
		lease = s.hold("shop:b", distlock.Opts{})
		ctx, leave := context.WithCancel(s.Context())
		leave()
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/release", strings.NewReader("key=shop:b"))
		r.Header = http.Header{"Content-Type": {form}, "User": {"ann"}}
		s.ui.ServeHTTP(httptest.NewRecorder(), r)
		if err := lease.Check(); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the client has left: %v", err)
		}
	}, lockui.WithForceRelease(authorize))
}

func TestNoReleaseByDefault(t *testing.T) {
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{})
		if s.list("/").CanRelease {
			t.Error("can_release is true")
		}
		s.release(http.StatusNotFound, "a", "there is nothing at this path")
		s.wantKeys(s.list("/"), "a")
	})
}

func TestReleaseFromAnotherOrigin(t *testing.T) {
	authorize := func(*http.Request, string) error {
		t.Error("the function was asked")
		return nil
	}
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{})
		const detail = "the request comes from a page of another origin"
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"}, // another host of the same domain
			{"Origin", "http://evil.example"},
			{"Origin", "null"},
		} {
			s.release(http.StatusForbidden, "a", detail, header...)
			// A page of another site may send these without asking first.
			for _, contentType := range []string{"text/plain", "application/json", "multipart/form-data"} {
				s.release(http.StatusForbidden, "a", detail, append([]string{"Content-Type", contentType}, header...)...)
			}
		}
		s.wantKeys(s.list("/"), "a")
	}, lockui.WithForceRelease(authorize))
}

func TestBadRelease(t *testing.T) {
	const unparsed = "the body cannot be parsed"
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{})
		for _, c := range []struct {
			contentType, body string
			status            int
			detail            string
		}{
			{form, "", http.StatusBadRequest, "key is missing"},
			{form, "key=", http.StatusBadRequest, "key is missing"},
			{form, "key=a&key=b", http.StatusBadRequest, unparsed},
			{form, "key=%zz", http.StatusBadRequest, unparsed},
			{form, "key=%ff", http.StatusBadRequest, "the key is not the key of a lock"},
			{form, "key=a+b", http.StatusBadRequest, "the key is not the key of a lock"},
			{form, "key=" + strings.Repeat("x", 5000), http.StatusRequestEntityTooLarge, "the body is too large"},
			{"application/json", `{"key":"a"}`, http.StatusUnsupportedMediaType, "want a form: application/x-www-form-urlencoded"},
			{"text/plain", "key=a", http.StatusUnsupportedMediaType, "want a form: application/x-www-form-urlencoded"},
		} {
			s.wantProblem(s.send("POST", "/release", c.body, "Content-Type", c.contentType), c.status, c.detail)
		}
		// The key in the address is not meant.
		s.wantProblem(s.send("POST", "/release?key=a", "", "Content-Type", form), http.StatusBadRequest, "key is missing")
		s.wantKeys(s.list("/"), "a")
		s.store.Fail(distlock.ErrForeign, testkit.Force)
		s.release(http.StatusConflict, "a", "the key contains something that is not a lock of this library")
	}, lockui.WithForceRelease(anyone))
}
