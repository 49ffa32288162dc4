package zklock_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestSessionIsOver: the server has said that the session is over, before a renewal or
// while it waits for a connection. It is lost, without a request.
func TestSessionIsOver(t *testing.T) {
	for name, during := range map[string]bool{"before": false, "during": true} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				g := testkit.MustTry(t, v, testkit.NewRequest("key"))
				v.server.On(opConnect, func(string) fate {
					v.network.Refuse(true) // it says that the session is over, and is gone
					return served
				})
				v.network.Refuse(during)
				v.newSession()
				start := time.Now()
				time.AfterFunc(time.Second/2, func() { v.network.Refuse(false) })
				if got := testkit.Renewed(t, v, g); !errors.Is(got, driver.ErrLost) || !during && time.Since(start) != 0 {
					t.Errorf("a renewal after the session: %+v after %v", got, time.Since(start))
				}
			})
		})
	}
}

// Between the start of a call and its first request the session has changed, and the
// server still shows the node of the earlier one.
//
// Row 12 (zklock): the node of an earlier session is no lock, for an acquisition, a
// renewal or an extension. Fails if a node counts because its owner is the session in
// which it was created.
func TestNodeOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(t *testing.T, v *virtual, r driver.Request, g driver.Grant){
		"acquisition": func(t *testing.T, v *virtual, r driver.Request, _ driver.Grant) {
			v.acrossSessions(func() {
				g, err := v.TryAcquire(t.Context(), r)
				if err != nil {
					t.Errorf("TryAcquire: %v", err)
				} else if got := testkit.Renewed(t, v, g); got != nil {
					t.Errorf("the owner was granted a node that is not its lock: %+v", got)
				}
			})
			testkit.MustRelease(t, v, r.Grant())
			v.mustBeEmpty(t, r.Key)
		},
		"renewal": func(t *testing.T, v *virtual, _ driver.Request, g driver.Grant) {
			v.acrossSessions(func() {
				if got := testkit.Renewed(t, v, g); got == nil {
					t.Errorf("renewed in another session: %+v", got)
				}
			})
		},
		"extension": func(t *testing.T, v *virtual, _ driver.Request, g driver.Grant) {
			v.newSession()
			if g, err := v.Extend(t.Context(), g, 1); !errors.Is(err, driver.ErrLost) {
				t.Errorf("extended in another session: %+v, %v", g, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, v *virtual) {
				r := testkit.NewRequest("key")
				use(t, v, r, testkit.MustTry(t, v, r))
			})
		})
	}
}

// TestNodeOfAnotherSession: the node of a holder belongs to another session. It is not
// a lock, for a renewal or an extension.
func TestNodeOfAnotherSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		stolen := func(key string) driver.Grant {
			g := testkit.MustTry(t, v, testkit.NewRequest(key))
			v.server.Steal(v.server.Children(parentOf(key))[0])
			return g
		}
		if got := testkit.Renewed(t, v, stolen("renewed")); !errors.Is(got, driver.ErrLost) {
			t.Errorf("renewed with the node of another session: %+v", got)
		}
		if g, err := v.Extend(t.Context(), stolen("extended"), 1); !errors.Is(err, driver.ErrLost) {
			t.Errorf("extended with the node of another session: %+v, %v", g, err)
		}
	})
}

// TestCreatedInTheNextSession: the request for a node is written in the next session.
// The owner finds that node, and needs no other.
func TestCreatedInTheNextSession(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		v.acrossSessions(func() {
			if _, err := v.TryAcquire(t.Context(), testkit.NewRequest("key")); err != nil {
				t.Errorf("TryAcquire: %v", err)
			}
		})
		if all := v.server.Created(parentOf("key")); len(all) != 1 {
			t.Errorf("created %q", all)
		}
	})
}

// TestLeaderMustAnswer: a server that is cut off from the leader answers reads. The
// node of a creation in doubt is looked for where the leader is, and a waiter asks it, as
// does each call that is about the holder or a place.
func TestLeaderMustAnswer(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		// The creation reaches the leader, and this server later.
		mustWork(t, v.Backend, "other") // creates the key's node
		r := testkit.NewRequest("other")
		v.tryInDoubt(t, r, postponed)
		testkit.ReleaseRepeatedly(t, v, testkit.TryRepeatedly(t, v, r))
		if all := v.server.Created(parentOf("other")); len(all) != 2 {
			t.Errorf("created %q", all)
		}
		if err := v.Ping(t.Context()); err != nil { // the server has caught up
			t.Error(err)
		}
		v.mustBeEmpty(t, "other")

		// A waiter sees that the node in front is gone, at a server that the leader
		// does not answer.
		held := testkit.MustTry(t, v, testkit.NewRequest("held"))
		other := newVirtual(t, v.server)
		waits, result := testkit.NewRequest("held"), make(chan error, 1)
		go func() {
			_, err := testkit.Await(t.Context(), other, waits, testkit.Looks{})
			result <- err
		}()
		synctest.Wait()
		v.server.On(opSync, func(string) fate { return dropped })
		testkit.MustRelease(t, v, held)
		if err := <-result; err == nil {
			t.Error("a waiter got the key without the leader")
		}
		for what, ask := range map[string]func() error{
			"ForceRelease": func() error { _, err := v.ForceRelease(t.Context(), "held"); return err },
			"Revoke":       func() error { _, err := v.Revoke(t.Context(), "held"); return err },
			"Inspect":      func() error { _, err := v.Inspect(t.Context(), "held", 1); return err },
			"Release":      func() error { return v.Release(t.Context(), testkit.NewRequest("held").Grant()) },
		} {
			if err := ask(); err == nil || errors.Is(err, driver.ErrLost) {
				t.Errorf("%s works without the leader", what)
			}
		}
		v.server.ServeAll()
		testkit.MustRelease(t, other, testkit.TryRepeatedly(t, other, waits))
	})
}
