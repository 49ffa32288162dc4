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
			open := newServer(t).opener(abilities)
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

// A waiter that was silent has lost its place. It joins again when it sees that.
func TestPassedWaiterJoinsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := newServer(t).opener("t")
		holder, a, b, c, passed, next := open(), open(), open(), open(), testkit.NewRequest("key"), testkit.NewRequest("key")
		g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
		mustBeHeld(t, a, passed)
		mustBeHeld(t, b, next)
		testkit.MustRelease(t, holder, g)
		time.Sleep(600 * time.Millisecond)
		mustBeHeld(t, b, next)
		time.Sleep(1100 * time.Millisecond)
		g, err := b.Enqueue(t.Context(), next)
		mustBeHeld(t, c, testkit.NewRequest("key"))
		testkit.MustRelease(t, b, g)
		for range 2 {
			mustBeHeld(t, a, passed)
			time.Sleep(600 * time.Millisecond)
		}
		found, err2 := c.(driver.Inspector).Inspect(t.Context(), "key", 0)
		if errors.Join(err, err2) != nil || len(found) != 1 || found[0].Waiting != 2 {
			t.Errorf("%+v, %v, %v", found, err, err2)
		}
	})
}

// A turn begins when the lease of a dead holder has ended, and not when it was written.
func TestTurnAfterADeadHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := newServer(t).opener("m")
		first, second, r, dead := open(), open(), testkit.NewRequest("key"), testkit.NewRequest("key")
		dead.TTL = 5 * time.Second
		testkit.MustTry(t, open(), dead)
		mustBeHeld(t, first, r)
		behind := testkit.NewRequest("key")
		mustBeHeld(t, second, behind)
		time.Sleep(dead.TTL + 10*time.Millisecond)
		mustBeHeld(t, second, behind)
		if _, err := first.Enqueue(t.Context(), r); err != nil {
			t.Error(err)
		}
		synctest.Wait() // its place is gone
	})
}

// A writer cannot have the key while readers do, so it has not let its turn pass.
func TestReaderDoesNotPassAWriter(t *testing.T) {
	for _, abilities := range []string{"", "mt"} {
		synctest.Test(t, func(t *testing.T) {
			open := newServer(t).opener(abilities)
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

// Messages that were lost while the connection was down are made good when it is up again: a
// waiter gets the key, and a holder hears that it is asked to give its key back.
func TestLostMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.fault = func(op, _, _ string) fault { return map[string]fault{"send": lost}[op] }
		holder, other := s.opener("m")(), s.opener("m")()
		g, kept, r := testkit.MustTry(t, holder, testkit.NewRequest("key")), testkit.MustTry(t, holder, testkit.NewRequest("kept")), testkit.NewRequest("key")
		asked := holder.(driver.Revoker).Revoked(t.Context(), kept)
		mustBeHeld(t, other, r)
		turn := other.Turn(t.Context(), r)
		synctest.Wait()
		if held, err := other.(driver.Revoker).Revoke(t.Context(), "kept"); !held || err != nil {
			t.Fatal(held, err)
		}
		testkit.MustRelease(t, holder, g)
		s.reconnect()
		synctest.Wait()
		select {
		case <-turn:
			<-asked
		default:
			t.Error("the waiter was not told")
		}
	})
}

// Whoever must read before it writes always loses to a process that knows the version. It goes
// into the line, and asks that process for the mark, in other words the second time.
func TestFastProcessKeepsNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.service = time.Millisecond
		fast, slow := s.opener("mt")(), s.opener("mt")()
		served, done := make(chan error), false
		time.AfterFunc(time.Second, func() {
			var all error
			for range 2 {
				g, err := testkit.Await(t.Context(), slow, testkit.NewRequest("key"), testkit.Looks{})
				all = errors.Join(all, err, slow.Release(t.Context(), g))
				time.Sleep(time.Second) // the mark is gone
			}
			served <- all
		})
		for begin := time.Now(); !done; {
			if g, err := fast.TryAcquire(t.Context(), testkit.NewRequest("key")); err == nil {
				testkit.MustRelease(t, fast, g)
			}
			select {
			case err := <-served:
				if done = true; err != nil || time.Since(begin) > 3500*time.Millisecond {
					t.Errorf("served after %v: %v", time.Since(begin), err)
				}
			default:
			}
		}
		time.Sleep(time.Second)               // its place is gone
		for pair, most := range []int{9, 2} { // the first finds the line empty
			before := s.requests
			if testkit.MustRelease(t, fast, testkit.MustTry(t, fast, testkit.NewRequest("key"))); s.requests > before+most {
				t.Errorf("pair %d: %d requests", pair, s.requests-before)
			}
		}
		if _, err := fast.(driver.Extender).Extend(t.Context(), testkit.MustTry(t, fast, testkit.NewRequest("key")), 1); err != nil {
			t.Errorf("Extend after the last waiter: %v", err)
		}
	})
}

// A key whose line cannot be read is listed without it, and the error says so.
func TestInspectWithoutTheLine(t *testing.T) {
	for _, abilities := range []string{"", "t"} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
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
	for name, mode := range map[string]driver.Mode{"others have the key": driver.Shared, "a newcomer is faster": driver.Exclusive} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				open := s.opener("mt")
				a, b, c, waiter, r, first := open(), open(), open(), open(), testkit.NewRequest("key"), testkit.NewRequest("key")
				first.Mode = mode
				last := testkit.MustTry(t, a, first)
				mustBeHeld(t, c, r) // it sets the mark, and leaves the line
				testkit.MustRelease(t, c, r.Grant())
				first.Owner, r.Owner = testkit.NewRequest("key").Owner, testkit.NewRequest("key").Owner
				join := func() { mustBeHeld(t, waiter, r) }
				if mode == driver.Shared {
					s.next("swap", join)
					testkit.MustRelease(t, b, testkit.MustTry(t, b, first))
				} else {
					arrived, goOn, done := make(chan bool), make(chan bool), make(chan bool)
					s.next("put", func() { // b is about to join
						testkit.MustRelease(t, a, last)
						s.next("swap", func() { close(arrived); <-goOn })
						go func() {
							testkit.MustRelease(t, c, testkit.MustTry(t, c, testkit.NewRequest("key")))
							close(done)
						}()
						<-arrived // c has read the line, which is empty
						s.next("swap", func() { join(); close(goOn); <-done })
					})
					var err error
					if last, err = b.Enqueue(t.Context(), first); err != nil {
						t.Fatal(err)
					}
					a = b
				}
				told := func() bool {
					synctest.Wait()
					return len(waiter.Turn(t.Context(), r)) > 0
				}
				if told() {
					<-waiter.Turn(t.Context(), r)
				}
				if testkit.MustRelease(t, a, last); !told() {
					t.Error("the waiter was not told")
				}
			})
		})
	}
}

// A line that cannot be read is empty, and the next waiter writes it anew.
func TestDamagedLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t)
		s.cells["\x00key"] = []byte("damaged")
		b := s.opener("")()
		testkit.MustTry(t, b, testkit.NewRequest("key"))
		mustBeHeld(t, b, testkit.NewRequest("key"))
		if found, err := b.(driver.Inspector).Inspect(t.Context(), "key", 0); err != nil || found[0].Waiting != 1 {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
