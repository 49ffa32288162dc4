package pglisten

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
)

// However a connection fails, Listen returns within the time of a check and of closing
// it, says so, and leaves no connection. One that only has no messages is kept.
func TestListenGivesUpItsConnection(t *testing.T) {
	from := func(n int32, then string) func(string, int32) string {
		return func(_ string, checks int32) string {
			if checks >= n {
				return then
			}
			return "off"
		}
	}
	listen := func(then string) func(string, int32) string {
		return func(query string, _ int32) string {
			if strings.HasPrefix(query, "LISTEN") {
				return then
			}
			return "off"
		}
	}
	const third = 2 * checkInterval // after the one before LISTEN
	for name, c := range map[string]struct {
		answer  func(query string, checks int32) string
		listens bool // at first
		most    time.Duration
		err     error
	}{
		"works":           {listen("off"), true, time.Hour + time.Second, context.Canceled},
		"silent":          {from(1, silent), false, 2 * checkTimeout, nil},
		"silent, later":   {from(3, silent), true, third + 2*checkTimeout, nil},
		"silent, LISTEN":  {listen(silent), false, 2 * checkTimeout, nil},
		"refuses":         {from(1, refuses), false, 0, nil},
		"refuses, later":  {from(3, refuses), true, third, nil},
		"refuses, LISTEN": {listen(refuses), false, 0, nil},
		"read-only":       {from(1, "on"), false, 0, errReadOnly},
		"read-only later": {from(3, "on"), true, third, errReadOnly},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answer: c.answer}
				begin, r := time.Now(), start(t, s.listener(t))
				time.AfterFunc(time.Hour+time.Second, r.end)
				err := <-r.ended
				if d := time.Since(begin); err == nil || c.err != nil && !errors.Is(err, c.err) || d > c.most {
					t.Errorf("Listen returns %v after %v, want %v within %v", err, d, c.err, c.most)
				}
				if got := len(r.listening) + len(r.heard); got != map[bool]int{true: 2}[c.listens] {
					t.Errorf("it has listened and heard %d times", got)
				}
				if time.Sleep(time.Minute); s.conns.Load() != 0 { // pgx is patient with a server that is silent
					t.Fatalf("%d connections are left", s.conns.Load())
				}
			})
		})
	}
}

// A password that ends is asked for before each connection, as all of the configuration,
// and within the time of a check. Without one nothing connects.
func TestListenerAsksBeforeEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{answer: func(string, int32) string { return "on" }}
		l, asked, errNoPassword := s.listener(t), 0, errors.New("no password")
		l.before = append(l.before, func(ctx context.Context, c *pgx.ConnConfig) error {
			if asked++; c.User != "shop" {
				t.Errorf("the copy has the user %q", c.User)
			}
			c.User = "new"
			if asked <= 2 {
				return nil
			}
			s.user = ""
			<-ctx.Done()
			return errNoPassword
		})
		for n, want := range []error{errReadOnly, errReadOnly, errNoPassword} {
			begin, r := time.Now(), start(t, l)
			if err := <-r.ended; !errors.Is(err, want) || asked != n+1 || time.Since(begin) > checkTimeout {
				t.Errorf("%v after %v, asked %d times", err, time.Since(begin), asked)
			}
			if (s.user == "new") != (n < 2) {
				t.Errorf("connection %d has the user %q", n, s.user)
			}
		}
	})
}
