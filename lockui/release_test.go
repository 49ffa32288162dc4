package lockui_test

import (
	"errors"
	"net/http"
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
		asked = append(asked, r.Header.Get("User")+" "+key)
		return nil
	}
	bubble(t, func(s *site) {
		if !s.list("/").CanRelease {
			t.Error("can_release is false")
		}
		lease := s.hold("shop:a", distlock.Opts{})
		for _, want := range []string{`{"key":"shop:a","held":true}`, `{"key":"shop:a","held":false}`} {
			got := s.send("POST", "/release", "key=shop%3Aa", "Content-Type", form+"; charset=utf-8", "User", "ann", "Accept", "*/*")
			if got.status != http.StatusOK || got.body != want+"\n" || got.header.Get("Content-Type") != "application/json" {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		if err := lease.Release(s.Context()); !errors.Is(err, distlock.ErrLost) {
			t.Errorf("the holder's release: %v", err)
		}
		if got := strings.Join(asked, ","); got != "ann shop:a,ann shop:a" {
			t.Errorf("asked for %s", got)
		}
	}, lockui.WithForceRelease(authorize))
}

func TestNoReleaseByDefault(t *testing.T) {
	bubble(t, func(s *site) {
		lease := s.hold("a", distlock.Opts{})
		if s.list("/").CanRelease {
			t.Error("can_release is true")
		}
		for _, method := range []string{"POST", "GET", "PUT", "DELETE"} {
			s.wantProblem(s.send(method, "/release", "key=a", "Content-Type", form), http.StatusNotFound, "there is nothing at this path")
		}
		if err := lease.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestReleaseIsRefused(t *testing.T) {
	authorize := func(*http.Request, string) error { return errors.New("the secret reason") }
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{})
		s.release(http.StatusForbidden, "a", "this request may not release the key")
		s.wantKeys(s.list("/"), "a")
	}, lockui.WithForceRelease(authorize))
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

func TestReleaseFromTheSameOrigin(t *testing.T) {
	bubble(t, func(s *site) {
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "same-origin", "Origin", "http://shop.example"},
			{"Origin", "http://shop.example"},
			{}, // not a browser
		} {
			lease := s.hold("a", distlock.Opts{})
			header = append([]string{"Content-Type", form}, header...)
			if got := s.send("POST", "/release", "key=a", header...); got.body != `{"key":"a","held":true}`+"\n" {
				t.Errorf("%q: %d %s", header, got.status, got.body)
			}
			_ = lease.Release(s.Context()) // it is lost
		}
	}, lockui.WithForceRelease(anyone))
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
	}, lockui.WithForceRelease(anyone))
}

func TestReleaseOfAForeignKey(t *testing.T) {
	bubble(t, func(s *site) {
		s.store.Fail(distlock.ErrForeign, testkit.Force)
		s.release(http.StatusConflict, "a", "the key contains something that is not a lock of this library")
	}, lockui.WithForceRelease(anyone))
}
