//go:build unix

package httpmw_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/redislock"
	"github.com/distlock-go/distlock/httpmw"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func init() { roles["shop"] = beShop }

// openShop returns a Locker on the Redis at addr, and the lock of the route.
func openShop(addr string) (*distlock.Locker, func(http.Handler) http.Handler, func()) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	l := distlock.New(redislock.New(rdb, redislock.Config{}), distlock.Config{})
	lock := httpmw.Lock(l, httpmw.Int(httpmw.PathValue("id")), distlock.Opts{
		Prefix: "shop:", Value: "pay", KeyTimeout: 300 * time.Millisecond, MaxWait: time.Minute,
	})
	return l, lock, func() { _ = l.Close(); _ = rdb.Close() }
}

// beShop serves the recipe. It says what it does, and waits for the parent each time.
func beShop(c *testkit.Child) error {
	var addr string
	if err := c.Decode(&addr); err != nil {
		return err
	}
	_, lock, end := openShop(addr)
	defer end()
	say := func(what string) { c.Say(what); c.Hear() }
	s := &shop{
		priceOf: func(context.Context, string) (int, error) { say("asks"); return 7, nil },
		book:    func(string, int) { say("books"); c.Say("booked") },
	}
	routes, served := s.routes(lock), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes.ServeHTTP(w, r)
		c.Say("ended")
		close(served)
	}))
	c.Say("serves", srv.URL)
	<-served
	srv.Close()
	return nil
}

// The process with the handler of the README is stopped until another one has the lock. If
// it was stopped before Check, it writes nothing. Between Check and the write only the
// resource can refuse it. The client never gets a success.
func TestStoppedHandler(t *testing.T) {
	for stopped, want := range map[string]string{"asks": "ended", "books": "booked"} {
		t.Run(stopped, func(t *testing.T) {
			server := miniredis.RunT(t)
			server.ClockTTL(true)
			addr := server.Addr()
			p := testkit.StartChild(t, "shop", addr)
			var url string
			p.Hear("serves", &url)
			answers := make(chan answer, 1)
			go func() { answers <- pay(t, url) }()
			p.Hear("asks")
			if stopped == "books" {
				p.Tell("go on")
				p.Hear("books")
			}
			p.Stop()

			_, lock, end := openShop(addr)
			defer end()
			other := &shop{priceOf: func(context.Context, string) (int, error) { return 8, nil }, book: func(string, int) {}}
			if got := record(other.routes(lock), httptest.NewRequest(http.MethodPost, "/orders/42/pay", nil)); got.body != "paid 42\n" {
				t.Errorf("the other process: %d %s", got.status, got.body)
			}
			p.Cont()
			p.Tell("go on")
			wantProblem(t, <-answers, lost, "")
			if got := p.Line(); got != want {
				t.Errorf("the process that was stopped: %s, want %s", got, want)
			}
		})
	}
}

// pay sends the request of a client.
func pay(t *testing.T, url string) (a answer) {
	t.Helper()
	resp, err := http.Post(url+"/orders/42/pay", "", http.NoBody)
	if err != nil {
		t.Error(err)
		return a
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{resp.StatusCode, resp.Header, nil, string(body)}
}
