package lockui_test

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/lockui"
)

// viewer is a client of an event stream.
type viewer struct {
	*site
	resp   *http.Response
	events chan event // closed at the end of the stream
}

type event struct{ name, data string }

// watch opens an event stream. The site reads it in the background.
func (s *site) watch(path string) *viewer {
	s.Helper()
	resp := s.open("GET", path, "") //nolint:bodyclose // the end of the test closes the connection
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		s.Fatalf("%s: %s %v", path, resp.Status, resp.Header)
	}
	v := &viewer{s, resp, make(chan event, 1000)}
	go func() {
		defer close(v.events)
		lines := bufio.NewReader(resp.Body)
		var e event
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			switch field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); field {
			case "event":
				e.name = value
			case "data":
				e.data = value
			case ":":
				e.name = "beat"
			case "":
				v.events <- e
				e = event{}
			default:
				s.Errorf("unexpected line %q", line)
			}
		}
	}()
	s.Cleanup(v.leave)
	return v
}

// next waits for an event with the name, and returns its data. It skips beats.
func (v *viewer) next(name string) string {
	v.Helper()
	late := time.After(time.Hour)
	for {
		select {
		case e, ok := <-v.events:
			if ok && e.name == "beat" && name != "beat" {
				continue
			}
			if !ok || e.name != name {
				v.Fatalf("event %+v, want %s", e, name)
			}
			return e.data
		case <-late:
			v.Fatalf("no event %s", name)
		}
	}
}

// none checks that there is no event now, except beats.
func (v *viewer) none() {
	v.Helper()
	synctest.Wait()
	for {
		select {
		case e, ok := <-v.events:
			if e.name != "beat" {
				v.Fatalf("event %+v, %v", e, ok)
			}
		default:
			return
		}
	}
}

// ended waits for the end of the stream.
func (v *viewer) ended() {
	v.Helper()
	select {
	case e, ok := <-v.events:
		if ok {
			v.Fatalf("event %+v, want the end", e)
		}
	case <-time.After(time.Hour):
		v.Fatal("the stream does not end")
	}
}

func (v *viewer) leave() {
	_ = v.resp.Body.Close()
	synctest.Wait()
}

func TestEvents(t *testing.T) {
	bubble(t, func(s *site) {
		plain := httptest.NewRecorder()
		s.ui.ServeHTTP(struct{ http.ResponseWriter }{plain}, httptest.NewRequest("GET", "/events", nil))
		if plain.Code != http.StatusInternalServerError {
			t.Errorf("a ResponseWriter that cannot flush: %d", plain.Code)
		}
		start := time.Now()
		stream := s.watch("/events?prefix=shop:")
		s.wantKeys(s.decode(stream.next("locks")))
		if d := time.Since(start); d != 0 {
			t.Errorf("the first event came after %v", d)
		}
		time.Sleep(10 * time.Second)
		stream.none()

		lease := s.hold("shop:a", distlock.Opts{KeyTimeout: 30 * time.Second})
		s.hold("else:b", distlock.Opts{})
		s.wantKeys(s.decode(stream.next("locks")), "shop:a")
		time.Sleep(4 * time.Second)
		stream.none()
		if err := lease.Release(s.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(500 * time.Millisecond)
		s.wantKeys(s.decode(stream.next("locks")))
	})
}

// The end of a lease that is not renewed is always the same, so it is not a change.
// A renewal is.
func TestRenewalIsAnEvent(t *testing.T) {
	bubble(t, func(s *site) {
		start := time.Now().UTC()
		s.hold("a", distlock.Opts{KeyTimeout: 9 * time.Second})
		stream := s.watch("/events")
		until := start.Add(9 * time.Second)
		for i := range 5 {
			got := s.decode(stream.next("locks")).Locks[0].Holders[0].Until
			if i == 0 && got != until || i > 0 && got.Sub(until) < 2*time.Second {
				t.Errorf("until %v, before until %v", got, until)
			}
			until = got
			if renewed := until.Add(-9 * time.Second); time.Since(renewed) > 501*time.Millisecond { // times are cut to milliseconds
				t.Errorf("the event came %v after the renewal", time.Since(renewed))
			}
		}
	})
}

// A store tells the rest of a lease, and the answer takes more or less time.
func TestJitterIsNotAnEvent(t *testing.T) {
	bubble(t, func(s *site) {
		start := time.Now()
		left := func(d time.Duration) {
			s.others(driver.KeyInfo{Key: "a", Held: 1, Holders: []driver.HolderInfo{{Owner: "x", ExpiresIn: d - time.Since(start)}}})
		}
		left(time.Minute)
		stream := s.watch("/events")
		stream.next("locks")
		for i := range 20 {
			time.Sleep(499 * time.Millisecond)
			left(time.Minute + 248*time.Millisecond*time.Duration(i%3-1))
			time.Sleep(time.Millisecond)
			stream.none()
		}
		left(time.Minute + time.Second) // to the next poll, half a second later
		if until := s.decode(stream.next("locks")).Locks[0].Holders[0].Until; until.Sub(start) != time.Minute+1500*time.Millisecond {
			t.Errorf("until %v", until)
		}
	})
}

// TestOnePollForAllViewers counts the requests to the store.
func TestOnePollForAllViewers(t *testing.T) {
	bubble(t, func(s *site) {
		time.Sleep(time.Hour)
		if n := s.inspected(); n != 0 {
			t.Errorf("nobody looks: %d requests", n)
		}
		var viewers []*viewer
		for range 10 {
			v := s.watch("/events?prefix=shop:")
			v.next("locks")
			viewers = append(viewers, v)
		}
		time.Sleep(60*time.Second + 100*time.Millisecond)
		if n := s.inspected(); n != 1+120 {
			t.Errorf("10 viewers for a minute: %d requests", n)
		}
		for _, v := range viewers {
			v.leave()
		}
		time.Sleep(time.Hour)
		if n := s.inspected(); n != 121 {
			t.Errorf("an hour without a viewer: %d requests in all", n)
		}
	})
}

func TestUnavailable(t *testing.T) {
	const unavailable = `{"error":"unavailable"}`
	bubble(t, func(s *site) {
		s.hold("a", distlock.Opts{KeyTimeout: time.Hour})
		stream := s.watch("/events")
		before := s.decode(stream.next("locks"))

		s.store.Fail(errBroken, testkit.Inspect)
		if got := stream.next("unavailable"); got != unavailable {
			t.Errorf("got %s", got)
		}
		time.Sleep(5 * time.Second)
		stream.none() // it is said once
		later := s.watch("/events")
		if got := later.next("unavailable"); got != unavailable {
			t.Errorf("a later viewer: %s", got)
		}

		s.store.Fail(nil)
		for _, v := range []*viewer{stream, later} {
			if got := s.decode(v.next("locks")); got.Locks[0].Holders[0] != before.Locks[0].Holders[0] {
				t.Errorf("the store is back: %+v", got)
			}
		}
		s.store.Hang(testkit.Inspect)
		start := time.Now()
		if got := stream.next("unavailable"); got != unavailable || time.Since(start) > 11*time.Second {
			t.Errorf("the store hangs: %s after %v", got, time.Since(start))
		}
	})
}

func TestStreamsEndWithTheLocker(t *testing.T) {
	bubble(t, func(s *site) {
		stream := s.watch("/events")
		stream.next("locks")
		s.store.Fail(errBroken, testkit.Inspect)
		stream.next("unavailable")
		if err := s.locker.Close(); err != nil {
			t.Fatal(err)
		}
		if got := stream.next("unavailable"); got != `{"error":"closed"}` {
			t.Errorf("got %s", got)
		}
		stream.ended()
	})
}

// TestShutdown: Shutdown of the server waits for streams, and Close ends them.
func TestShutdown(t *testing.T) {
	bubble(t, func(s *site) {
		s.server.RegisterOnShutdown(s.ui.Close)
		stream := s.watch("/events")
		stream.next("locks")
		start := time.Now()
		if err := s.server.Shutdown(s.Context()); err != nil {
			t.Fatal(err)
		}
		stream.ended()
		if d := time.Since(start); d > time.Second {
			t.Errorf("Shutdown took %v", d)
		}
		time.Sleep(time.Hour)
		n := s.inspected()
		time.Sleep(time.Hour)
		if s.inspected() != n {
			t.Error("the store is asked after Close")
		}
	})
}

func TestClosed(t *testing.T) {
	bubble(t, func(s *site) {
		s.ui.Close()
		s.ui.Close()
		s.wantProblem(s.get("/events"), http.StatusServiceUnavailable, "this process shuts down")
		s.wantKeys(s.list("/"))
	})
}

// The timeouts of a server are for requests that end. A stream outlives them.
func TestStreamsOutliveTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := testkit.NewStore()
		l := newLocker(t, b)
		s := newSite(t, b, l, lockui.New(l), func(server *http.Server) {
			server.ReadTimeout, server.WriteTimeout = 3*time.Second, 5*time.Second
		})
		stream := s.watch("/events")
		stream.next("locks")
		for range 10 {
			stream.next("beat")
		}
	})
}

// TestClientThatDoesNotRead: the stream ends, and with it the requests to the store.
func TestClientThatDoesNotRead(t *testing.T) {
	bubble(t, func(s *site) {
		client, err := s.client.Transport.(*http.Transport).DialContext(s.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		if _, err := io.WriteString(client, "GET /locks/events HTTP/1.1\r\nHost: shop.example\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		n := s.inspected()
		time.Sleep(time.Minute)
		if s.inspected() != n {
			t.Error("the store is asked for a client that does not read")
		}
	})
}
