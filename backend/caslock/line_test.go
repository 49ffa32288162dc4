package caslock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// opened returns n processes.
func opened(t *testing.T, s *server, abilities string, n int) (all []*process) {
	for i := range n {
		p := &process{queuer: s.open(abilities).(queuer), id: i}
		t.Cleanup(func() { _ = p.Close() })
		all = append(all, p)
	}
	return all
}

func (p *process) mustBeHeld(t *testing.T, r driver.Request) {
	t.Helper()
	if g, err := p.Enqueue(t.Context(), r); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("%+v, %v", g, err)
	}
}

// The first in the line has died, or its message is lost. The second is told of the release,
// and has the key after one turn of a second.
func TestDeadWaiterCostsOneTurn(t *testing.T) {
	for _, abilities := range []string{"m", "mt"} {
		synctest.Test(t, func(t *testing.T) {
			p := opened(t, newServer(), abilities, 3)
			g := testkit.MustTry(t, p[0], p[0].request("key"))
			p[1].mustBeHeld(t, p[1].request("key"))
			var released time.Time
			time.AfterFunc(time.Second, func() {
				released = time.Now()
				testkit.MustRelease(t, p[0], g)
			})
			if _, err := testkit.Await(t.Context(), p[2], p[2].request("key"), testkit.Looks{}); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(released); d < time.Second || d > 1100*time.Millisecond {
				t.Errorf("%q: served %v after the release", abilities, d)
			}
		})
	}
}

// A writer cannot have the key while readers do, so it has not let its turn pass.
func TestReaderDoesNotPassAWriter(t *testing.T) {
	for _, abilities := range []string{"", "mt"} {
		synctest.Test(t, func(t *testing.T) {
			p := opened(t, newServer(), abilities, 3)
			read := func(p *process) driver.Request {
				r := p.request("key")
				r.Mode, r.TTL = driver.Shared, time.Minute
				return r
			}
			testkit.MustTry(t, p[0], read(p[0]))
			writer, late := p[1].request("key"), read(p[2])
			writer.TTL = time.Minute
			p[1].mustBeHeld(t, writer)
			for range 8 {
				p[2].mustBeHeld(t, late)
				time.Sleep(time.Second)
			}
		})
	}
}

// A message that was lost while the connection was down is made good when it is up again.
func TestLostMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fault = func(op, _, _ string) fault {
			if op == "send" {
				return lost
			}
			return none
		}
		p := opened(t, s, "m", 2)
		g := testkit.MustTry(t, p[0], p[0].request("key"))
		var up time.Time
		time.AfterFunc(time.Second, func() {
			testkit.MustRelease(t, p[0], g)
			time.Sleep(100 * time.Millisecond)
			up = time.Now()
			s.reconnect()
		})
		if _, err := testkit.Await(t.Context(), p[1], p[1].request("key"), testkit.Looks{}); err != nil || up.IsZero() || time.Since(up) > 10*time.Millisecond {
			t.Errorf("%v, %v after the connection was up", err, time.Since(up))
		}
	})
}
