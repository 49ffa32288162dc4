package lockui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/admin"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/clock"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

func TestList(t *testing.T) {
	bubble(t, func(s *site) {
		start := time.Now().UTC()
		lease := s.hold("shop:a", distlock.Opts{KeyTimeout: 30 * time.Second})
		waiting, stop := context.WithCancel(s.Context())
		done := make(chan bool)
		other := testkit.NewLocker(s.T, s.store, distlock.Config{Holder: "web-4/7"})
		go func() {
			_, _ = other.Acquire(waiting, "shop:a", distlock.Opts{Permits: 2}) // it is stopped
			done <- true
		}()
		for range 79 {
			go func() {
				_, _ = s.locker.Acquire(waiting, "shop:a", distlock.Opts{}) // so is this one, which has no place in the store
				done <- true
			}()
		}
		time.Sleep(2 * time.Second)

		got := s.list("/")
		want := locks{At: start.Add(2 * time.Second), Locks: []lock{{
			Key: "shop:a", Mode: "exclusive", Held: 1, Waiting: 1, Here: 79, Holders: []holder{{
				Holder: "web-3/1432", Fingerprint: admin.Fingerprint(lease), Token: strconv.FormatUint(lease.Token(), 10), LastToken: "1024",
				Since: start, Until: start.Add(30 * time.Second),
			}},
			Waiters: []waiter{{Waiter: "web-4/7", Fingerprint: s.waiters()[0].Owner, Mode: "permits", Permits: 2, Since: start}},
		}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		if one := s.list("/key?name=shop:a"); !reflect.DeepEqual(one, want) {
			t.Errorf("one key: %+v\nwant %+v", one, want)
		}
		stop()
		for range 80 {
			<-done
		}
	})
}

// waiters returns the waiters of the first key in the store.
func (s *site) waiters() []driver.WaiterInfo {
	s.Helper()
	infos, err := admin.Inspect(s.Context(), s.locker, "", 1)
	if err != nil || len(infos) != 1 || len(infos[0].Waiters) == 0 {
		s.Fatalf("listed %+v, %v", infos, err)
	}
	return infos[0].Waiters
}

// Holders are in the order of their age, waiters in the order of the queue, and what is not
// known is left out.
func TestWhatIsListed(t *testing.T) {
	bubble(t, func(s *site) {
		now := time.Now()
		s.hold("permits", distlock.Opts{Permits: 3})
		s.hold("shared", distlock.Opts{Mode: distlock.Shared})
		s.others(
			driver.KeyInfo{Key: "x:hash", Foreign: "hash", Held: 1, Holders: []driver.HolderInfo{{ExpiresIn: time.Minute}}},
			driver.KeyInfo{Key: "x:token", Held: 1, Holders: []driver.HolderInfo{{Token: 1<<64 - 1}}},
			driver.KeyInfo{Key: "x:waited", Waiting: 20, Waiters: []driver.WaiterInfo{
				{Owner: "b", Since: now}, {Owner: "a", Waiter: "\u2028"}, {Mode: driver.Shared},
			}},
			driver.KeyInfo{Key: "x:old", Held: 3, Holders: []driver.HolderInfo{
				{Owner: "a", Since: now.Add(time.Second)}, {Owner: "c", Since: now}, {Owner: "b", Since: now},
			}},
		)
		got := s.get("/").body
		for _, want := range []string{
			`"key":"permits","mode":"permits","held":1,`,
			`"key":"shared","mode":"shared","held":1,`,
			`"mode":"foreign","foreign":"hash","held":1,"waiting":0,"waiting_here":0,"holders":[{"until":"2000-01-01T00:01:00Z"}],"waiters":[]`,
			`"token":"18446744073709551615"`, // larger than the numbers that JavaScript counts exactly
			`"waiting":20,"waiting_here":0,"holders":[],"waiters":[{"fingerprint":"b","mode":"exclusive","since":"2000-01-01T00:00:00Z"},` +
				`{"waiter":"\u2028","fingerprint":"a","mode":"exclusive"},{"mode":"shared"}]}`,
			`"holders":[{"fingerprint":"b","since":"2000-01-01T00:00:00Z"},{"fingerprint":"c","since":"2000-01-01T00:00:00Z"},` +
				`{"fingerprint":"a","since":"2000-01-01T00:00:01Z"}]`,
		} {
			if !strings.Contains(got, want) {
				t.Errorf("not %s in %s", want, got)
			}
		}
	})
}

// A thousand keys are shown, and that there are more.
func TestManyKeys(t *testing.T) {
	bubble(t, func(s *site) {
		for i := range 1000 {
			s.hold(fmt.Sprintf("shop:%04d", i), distlock.Opts{})
		}
		if got := s.list("/"); len(got.Locks) != 1000 || got.More || got.Locks[999].Key != "shop:0999" {
			t.Errorf("%d keys, more: %v", len(got.Locks), got.More)
		}
		s.hold("shop:1000", distlock.Opts{})
		if got := s.list("/"); len(got.Locks) != 1000 || !got.More {
			t.Errorf("one more: %d keys, more: %v", len(got.Locks), got.More)
		}
	})
}

// A free key is not an error, and a key that others begin with is found among them.
func TestOneKey(t *testing.T) {
	bubble(t, func(s *site) {
		for i := range 100 {
			s.hold(fmt.Sprint("a", i), distlock.Opts{})
		}
		free := lock{Key: "a", Mode: "exclusive", Holders: []holder{}, Waiters: []waiter{}}
		if got := s.list("/key?name=a"); len(got.Locks) != 1 || !reflect.DeepEqual(got.Locks[0], free) || got.More {
			t.Errorf("a free key: %+v", got)
		}
		s.hold("a", distlock.Opts{})
		if got := s.list("/key?name=a"); len(got.Locks) != 1 || got.Locks[0].Key != "a" || got.Locks[0].Held != 1 || got.More {
			t.Errorf("a key: %+v", got)
		}
		s.wantProblem(s.get("/key"), http.StatusBadRequest, "name is missing")
	})
}

// oddKeys are keys that mean something elsewhere.
var oddKeys = []string{
	"a/../b", "//evil.example/", `"quoted"`, `'`, "<script>alert(1)</script>", "&amp;", "?x=1#f", "%41", "a+b", "*", `\`, "ключ", "\u2028", "event:x", "null",
}

func TestOddKeys(t *testing.T) {
	bubble(t, func(s *site) {
		for _, key := range oddKeys {
			if key == "\u2028" {
				continue // white space is not allowed in keys: it is below
			}
			lease := s.hold(key, distlock.Opts{})
			query := url.QueryEscape(key)
			s.wantKeys(s.list("/?prefix="+query), key)
			s.wantKeys(s.list("/key?name="+query), key)
			stream := s.watch("/events?prefix=" + query)
			s.wantKeys(s.decode(stream.next("locks")), key)
			stream.leave()
			if got := s.get("/").body; strings.ContainsAny(got, "<>&\u2028") {
				t.Errorf("HTML in %s", got)
			}
			got := s.send("POST", "/release", "key="+query, "Content-Type", "application/x-www-form-urlencoded")
			if got.status != http.StatusOK || !strings.HasSuffix(got.body, `"held":true}`+"\n") || lease.Release(s.Context()) == nil {
				t.Errorf("release of %q: %d %s", key, got.status, got.body)
			}
		}
	}, lockui.WithForceRelease(anyone))
}

// A key of another program may contain what no key of this library does.
func TestOddForeignKeys(t *testing.T) {
	for _, key := range []string{"\u2028", "a\nevent: locks\ndata: {}\n\n", "\x00\x7f\xff", "a b"} {
		bubble(t, func(s *site) {
			s.others(driver.KeyInfo{Key: key, Foreign: "string", Held: 1})
			got := s.get("/").body
			if strings.Count(got, "\n") != 1 || strings.Contains(got, "\u2028") || len(s.decode(got).Locks) != 1 {
				t.Errorf("%q: %q", key, got)
			}
			stream := s.watch("/events")
			s.wantKeys(s.decode(stream.next("locks")), strings.ToValidUTF8(key, "\ufffd"))
			stream.leave()
			s.release(http.StatusBadRequest, key, "the key is not the key of a lock")
		}, lockui.WithForceRelease(anyone))
	}
}

func TestBadParameters(t *testing.T) {
	long := strings.Repeat("x", 1025)
	bubble(t, func(s *site) {
		for query, detail := range map[string]string{
			"prefix=" + long:                     "prefix has 1025 bytes: at most 1024",
			"prefix=%ff":                         "prefix is not valid UTF-8",
			"prefix=a&prefix=b":                  "prefix is given 2 times",
			"prefix=%zz":                         "the query cannot be parsed",
			"prefix=a;b":                         "the query cannot be parsed",
			"prefix=" + strings.Repeat("x", 1e5): "prefix has 100000 bytes: at most 1024",
		} {
			s.wantProblem(s.get("/?"+query), http.StatusBadRequest, detail)
			if strings.HasPrefix(query, "prefix") {
				s.wantProblem(s.get("/events?"+query), http.StatusBadRequest, detail)
				name := strings.ReplaceAll(query, "prefix", "name")
				s.wantProblem(s.get("/key?"+name), http.StatusBadRequest, strings.ReplaceAll(detail, "prefix", "name"))
			}
		}
		if n := s.inspected(); n != 0 {
			t.Errorf("the store was asked %d times", n)
		}
		s.wantKeys(s.list("/?prefix=" + long[:1024]))
	})
}

// TestStoreFails: the client sees neither the error nor what was found before it.
func TestStoreFails(t *testing.T) {
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{})
		s.store.Fail(errBroken, testkit.Inspect, testkit.Force)
		const down = "the store of the locks does not answer"
		for _, path := range []string{"/", "/key?name=a"} {
			s.wantProblem(s.get(path), http.StatusServiceUnavailable, down)
		}
		s.release(http.StatusServiceUnavailable, "a", down)

		s.store.Hang(testkit.Inspect)
		start := time.Now()
		s.wantProblem(s.get("/"), http.StatusServiceUnavailable, "the store of the locks took too long")
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("the answer took %v", d)
		}
		s.store.Hang()
		s.wantKeys(s.list("/"), "a")
	}, lockui.WithForceRelease(anyone))
}

func TestBackendIsNotAnInspector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.NewStore()
		l := newLocker(t, b.Only(0))
		s := newSite(t, b, l, lockui.New(l, lockui.WithForceRelease(anyone)))
		const detail = "the backend of the locks cannot list them"
		for _, path := range []string{"/", "/key?name=a", "/events"} {
			s.wantProblem(s.get(path), http.StatusNotImplemented, detail)
		}
		s.release(http.StatusNotImplemented, "a", detail)
		if got := s.get("/", "Accept", "text/html"); got.status != http.StatusOK {
			t.Errorf("the page: %d", got.status)
		}
	})
}

// To list the locks may cost the store a visit of all its keys. Fails if each viewer makes it do
// so at the same time, or without a pause, or for itself although another looks for the same, or
// if one is refused because it waits for the others.
func TestOneScanAtATime(t *testing.T) {
	bubble(t, func(s *site) {
		var asking, most atomic.Int32
		s.store.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Inspect {
				most.Store(max(most.Load(), asking.Add(1)))
				time.Sleep(time.Second)
				asking.Add(-1)
			}
			return nil
		})
		start := time.Now()
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				if got := s.send("GET", fmt.Sprintf("/?prefix=shop:%d", i%10), ""); got.status != http.StatusOK {
					s.Errorf("%+v", got)
				}
			})
		}
		all.Wait()
		if d := time.Since(start); most.Load() != 1 || d != 19*time.Second {
			s.Errorf("%d scans at once, %v", most.Load(), d)
		}
	})
}

// Whoever has waited for a minute is refused, whatever it has asked for.
func TestPatienceOfAMinute(t *testing.T) {
	for _, path := range []string{"/?prefix=%d", "/key?name=%d"} {
		bubble(t, func(s *site) {
			s.store.Before(func(ctx context.Context, _ *testkit.Call) error {
				clock.Sleep(ctx, 9*time.Second) // and as long again for the rest
				return ctx.Err()
			})
			start := time.Now()
			var all sync.WaitGroup
			var served atomic.Int32
			for i := range 5 {
				all.Go(func() {
					if got := s.get(fmt.Sprintf(path, i)); got.status == http.StatusOK {
						served.Add(1)
					} else if s.wantProblem(got, http.StatusServiceUnavailable, "the store of the locks took too long"); time.Since(start) != time.Minute {
						s.Errorf("refused after %v", time.Since(start))
					}
				})
			}
			if all.Wait(); served.Load() != 3 {
				s.Errorf("%d are served", served.Load())
			}
		})
	}
}
