package lockui_test

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

// TestNoOwner searches every byte that every path sends for the owners, which are the
// secrets of the store.
func TestNoOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.NewStore()
		l := newLocker(t, b)
		s := newSite(t, b, l, lockui.New(l, lockui.WithForceRelease(anyone)))
		leases := []*distlock.Lease{
			s.hold("shop:a", distlock.Opts{}),
			s.hold("shop:permits", distlock.Opts{Permits: 2}),
			s.hold("shop:permits", distlock.Opts{Permits: 2}),
			s.hold("shop:readers", distlock.Opts{Mode: distlock.Shared}),
		}
		var sent strings.Builder
		send := func(method, path, body string, header ...string) {
			got := s.send(method, path, body, header...)
			_ = got.header.Write(&sent) // a Builder does not fail
			sent.WriteString(got.body)
		}
		// The stream sees a change, a renewal, and the end.
		resp := s.open("GET", "/events", "") //nolint:bodyclose // the server ends the stream
		done := make(chan error)
		go func() {
			_, err := io.Copy(&sent, resp.Body)
			done <- err
		}()
		time.Sleep(20 * time.Second)
		s.ui.Close()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/", "/key?name=shop:a", "/key?name=shop:permits", "/key?name=shop:readers", "/events", "/no"} {
			send("GET", path, "")
			send("GET", path, "", "Accept", "text/html")
		}
		for _, key := range []string{"shop:a", "shop:permits", "shop:readers", "shop:free"} {
			send("POST", "/release", "key="+url.QueryEscape(key), "Content-Type", form)
		}
		all := strings.ToLower(sent.String())
		for _, lease := range leases {
			if !strings.Contains(all, admin.Fingerprint(lease)) {
				t.Errorf("the fingerprint of %s was not sent", lease.Key())
			}
		}
		calls := b.Calls(testkit.Try, testkit.Enqueue)
		if len(calls) < len(leases) {
			t.Fatalf("%d calls", len(calls))
		}
		for _, c := range calls {
			secret, _, _ := strings.Cut(c.Owner, "@")
			bare := strings.ReplaceAll(secret, "-", "")
			for _, text := range []string{secret, bare, secret[:18], secret[18:], bare[:16], bare[16:]} {
				if strings.Contains(all, text) {
					t.Errorf("the owner %s was sent, as %s", c.Owner, text)
				}
			}
		}
	})
}

// TestPrefixCannotBeLeft: a Handler with a prefix shows and releases no other key.
func TestPrefixCannotBeLeft(t *testing.T) {
	const (
		outside  = "keys with this prefix are not shown here"
		confined = "shop:"
	)
	authorize := func(_ *http.Request, key string) error {
		if !strings.HasPrefix(key, confined) {
			t.Errorf("the function was asked for %q", key)
		}
		return nil
	}
	bubble(t, func(s *site) {
		s.hold("shop:a", distlock.Opts{})
		for _, key := range []string{"bank:a", "shop", "Shop:a", "a", "zoo"} {
			s.hold(key, distlock.Opts{})
		}
		for _, prefix := range []string{"", "s", "shop", "shop:", "shop:a"} {
			query := "?prefix=" + url.QueryEscape(prefix)
			s.wantKeys(s.list("/"+query), "shop:a")
			stream := s.watch("/events" + query)
			s.wantKeys(s.decode(stream.next("locks")), "shop:a")
			stream.leave()
		}
		for _, name := range []string{"bank:a", "bank:", "Shop:", "shop;", "zoo", "*", "?hop:", "[s]hop:", "%", "shop\x00:", " shop:", "sho", "shop:/../bank:a"} {
			query := url.QueryEscape(name)
			if strings.HasPrefix(name, confined) {
				s.wantKeys(s.list("/?prefix=" + query))
				continue
			}
			if !strings.HasPrefix(confined, name) {
				s.wantProblem(s.get("/?prefix="+query), http.StatusForbidden, outside)
				s.wantProblem(s.get("/events?prefix="+query), http.StatusForbidden, outside)
			}
			s.wantProblem(s.get("/key?name="+query), http.StatusForbidden, outside)
			s.release(http.StatusForbidden, name, outside)
		}
		for _, c := range s.store.Calls(testkit.Inspect) {
			if !strings.HasPrefix(c.Key, confined) {
				t.Errorf("the store was asked for %q", c.Key)
			}
		}

		// A backend that returns too much changes nothing.
		s.others(driver.KeyInfo{Key: "bank:b", Held: 1}, driver.KeyInfo{Key: "shop:b", Held: 1})
		s.wantKeys(s.list("/"), "shop:a", "shop:b")
		s.wantKeys(s.list("/?prefix=shop:b"), "shop:b")
		stream := s.watch("/events")
		s.wantKeys(s.decode(stream.next("locks")), "shop:a", "shop:b")
	}, lockui.WithPrefix(confined), lockui.WithForceRelease(authorize))
}
