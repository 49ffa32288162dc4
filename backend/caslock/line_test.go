package caslock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

func mustBeHeld(t *testing.T, q testkit.Queue, r driver.Request) {
	t.Helper()
	if g, err := q.Enqueue(t.Context(), r); !errors.Is(err, driver.ErrNotAcquired) {
		t.Fatalf("%+v, %v", g, err)
	}
}

// The first in the line has died, or its message is lost. The second is told of the release,
// and has the key after one turn of a second.
func TestDeadWaiterCostsOneTurn(t *testing.T) {
	for _, abilities := range []string{"m", "mt"} {
		synctest.Test(t, func(t *testing.T) {
			open := newServer().opener(abilities)
			holder := open()
			g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
			mustBeHeld(t, open(), testkit.NewRequest("key"))
			var released time.Time
			time.AfterFunc(time.Second, func() {
				released = time.Now()
				testkit.MustRelease(t, holder, g)
			})
			if _, err := testkit.Await(t.Context(), open(), testkit.NewRequest("key"), testkit.Looks{}); err != nil {
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
			open := newServer().opener(abilities)
			read := testkit.NewRequest("key")
			read.Mode = driver.Shared
			testkit.MustTry(t, open(), read)
			mustBeHeld(t, open(), testkit.NewRequest("key"))
			late := open()
			read.Owner = testkit.NewRequest("key").Owner
			for range 8 {
				mustBeHeld(t, late, read)
				time.Sleep(time.Second)
			}
		})
	}
}

// A message that was lost while the connection was down is made good when it is up again.
func TestLostMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.fail("send", lost)
		holder, waiter := s.opener("m")(), s.opener("m")()
		g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
		var up time.Time
		time.AfterFunc(time.Second, func() {
			testkit.MustRelease(t, holder, g)
			time.Sleep(100 * time.Millisecond)
			up = time.Now()
			s.reconnect()
		})
		if _, err := testkit.Await(t.Context(), waiter, testkit.NewRequest("key"), testkit.Looks{}); err != nil || up.IsZero() || time.Since(up) > 10*time.Millisecond {
			t.Errorf("%v, %v after the connection was up", err, time.Since(up))
		}
	})
}

// Whoever must read before it writes always loses to a process that knows the version. It goes
// into the line, and asks that process for the mark.
func TestFastProcessKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.service = time.Millisecond
		fast, slow := s.opener("mt")(), s.opener("mt")()
		served, done := make(chan error), false
		time.AfterFunc(time.Second, func() {
			_, err := testkit.Await(t.Context(), slow, testkit.NewRequest("key"), testkit.Looks{})
			served <- err
		})
		for begin := time.Now(); !done; {
			if g, err := fast.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil {
				testkit.MustRelease(t, fast, g)
			}
			select {
			case err := <-served:
				if done = true; err != nil || time.Since(begin) > 1100*time.Millisecond {
					t.Errorf("served after %v: %v", time.Since(begin), err)
				}
			default:
			}
		}
		time.Sleep(time.Second) // its place is gone
	})
}

// A key whose line cannot be read is listed without it, and the error says so.
func TestInspectWithoutTheLine(t *testing.T) {
	for _, abilities := range []string{"", "t"} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			b := s.opener(abilities)()
			testkit.MustTry(t, b, testkit.NewRequest("key"))
			mustBeHeld(t, b, testkit.NewRequest("key"))
			s.fault = func(op, key, _ string) fault { return map[bool]fault{true: lost}[op == "oldest" || key == "\x00key"] }
			for prefix, limit := range map[string]int{"key": 0, "": 9} {
				found, err := b.(driver.Inspector).Inspect(t.Context(), prefix, limit)
				if len(found) != 1 || found[0].Held != 1 || !errors.Is(err, errCut) {
					t.Errorf("%q, %q: %+v, %v", abilities, prefix, found, err)
				}
			}
		})
	}
}

// Somebody joins between the moment at which a taker reads the line and its write, and only
// waits: whoever releases the key last must tell it. These are histories of lab/spec/line.pml.
func TestJoinBeforeTheWrite(t *testing.T) {
	type queue = testkit.Queue
	reader := func() driver.Request {
		r := testkit.NewRequest("key")
		r.Mode = driver.Shared
		return r
	}
	// marked returns a holder, whose cell has the mark, and nobody is in the line.
	marked := func(t *testing.T, r driver.Request, holder, other queue) driver.Grant {
		g, gone := testkit.MustTry(t, holder, r), testkit.NewRequest("key")
		mustBeHeld(t, other, gone)
		testkit.MustRelease(t, other, gone.Grant())
		return g
	}
	for name, play := range map[string]func(t *testing.T, s *server, a, b, c, waiter queue, r driver.Request) (last func()){
		"others have the key": func(t *testing.T, s *server, a, b, _, waiter queue, r driver.Request) func() {
			g := marked(t, reader(), a, b)
			s.before["swap"] = func() { mustBeHeld(t, waiter, r) }
			testkit.MustRelease(t, b, testkit.MustTry(t, b, reader()))
			return func() { testkit.MustRelease(t, a, g) }
		},
		"a newcomer is faster": func(t *testing.T, s *server, a, b, c, waiter queue, r driver.Request) func() {
			g, first := marked(t, testkit.NewRequest("key"), a, c), testkit.NewRequest("key")
			arrived, goOn, done := make(chan bool), make(chan bool), make(chan bool)
			s.before["put"] = func() {
				testkit.MustRelease(t, a, g)
				s.before["swap"] = func() { close(arrived); <-goOn }
				go func() {
					testkit.MustRelease(t, c, testkit.MustTry(t, c, testkit.NewRequest("key")))
					close(done)
				}()
				<-arrived // it has read the line, which is empty
				s.before["swap"] = func() {
					mustBeHeld(t, waiter, r)
					close(goOn)
					<-done
				}
			}
			g, err := b.Enqueue(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			return func() { testkit.MustRelease(t, b, g) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer()
				open := s.opener("mt")
				waiter, r := open(), testkit.NewRequest("key")
				last := play(t, s, open(), open(), open(), waiter, r)
				turn := waiter.Turn(t.Context(), r)
				synctest.Wait()
				select {
				case <-turn:
				default:
				}
				last()
				synctest.Wait()
				select {
				case <-turn:
				default:
					t.Error("the waiter was not told")
				}
			})
		})
	}
}
