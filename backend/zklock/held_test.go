package zklock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// named returns a request for a holder with a name.
func named(key, name string) driver.Request {
	r := testkit.NewRequest(key)
	r.Owner += "@" + name
	return r
}

// TestHolderNames: the error of every process names the holder: after one attempt, and
// in a wait from the second refusal on, for one read while that holder alone is in the
// way. A hand-over reads no name.
func TestHolderNames(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		const web = "web-3/1432"
		other := newVirtual(t, v.server)
		r := named("key", web)
		r.TTL = time.Hour
		g := testkit.MustTry(t, v, r)
		time.Sleep(time.Minute)
		for from, left := range map[*virtual]bool{v: true, other: false} {
			_, err := from.TryAcquire(t.Context(), testkit.NewRequest("key"))
			held, ok := errors.AsType[*driver.HeldError](err)
			if !ok || held.Holder != web || held.Held != time.Minute || left != (held.RetryAfter > 0) {
				t.Errorf("TryAcquire: %#v", err)
			}
		}
		var reads atomic.Int32
		v.server.On(opGetData, func(string) fate { reads.Add(1); return served })
		mustRead := func(want int32) {
			t.Helper()
			if n := reads.Swap(0); n != want {
				t.Errorf("%d reads, want %d", n, want)
			}
		}
		w := testkit.StartWaiter(t, other, testkit.NewRequest("key"), testkit.Looks{Every: time.Second})
		time.Sleep(time.Minute)
		mustRead(2) // the watch, and the name
		w.Cancel()
		<-w.Done
		if held, ok := errors.AsType[*driver.HeldError](w.Err); !ok || held.Holder != web || !errors.Is(w.Err, context.Canceled) {
			t.Errorf("a cancelled wait: %v", w.Err)
		}
		testkit.MustRelease(t, other, w.Request.Grant())
		w = testkit.StartWaiter(t, other, testkit.NewRequest("key"))
		synctest.Wait()
		testkit.MustRelease(t, v, g)
		testkit.MustRelease(t, other, w.Served(t))
		mustRead(0) // the watch is there
	}, zklock.Config{SessionTimeout: 3 * time.Hour})
}

// TestRefusedTriesWriteNothing: only the first refusal of a process creates a node. The
// next ones name the present holder, and the key is taken as soon as it is free.
func TestRefusedTriesWriteNothing(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other := newVirtual(t, v.server)
		mustWork(t, other.Backend, "key") // makes the trial
		var created atomic.Int32
		v.server.On(opCreate, func(string) fate { created.Add(1); return served })
		for _, name := range []string{"first", "second"} {
			g := testkit.MustTry(t, v, named("key", name))
			created.Store(0)
			for range 5 {
				_, err := other.TryAcquire(t.Context(), testkit.NewRequest("key"))
				if held, _ := errors.AsType[*driver.HeldError](err); held == nil || held.Holder != name {
					t.Errorf("held by %#v, want %s", err, name)
				}
			}
			if n := created.Load(); n > 1 {
				t.Errorf("5 refused tries have created %d nodes", n)
			}
			testkit.MustRelease(t, v, g)
			testkit.MustRelease(t, other, testkit.MustTry(t, other, testkit.NewRequest("key")))
			reader := testkit.NewRequest("key")
			reader.Mode = driver.Shared
			g = testkit.MustTry(t, v, reader)
			testkit.MustBeBusy(t, other, "key")
			reader.Owner = testkit.NewRequest("key").Owner
			testkit.MustRelease(t, other, testkit.MustTry(t, other, reader))
			testkit.MustRelease(t, v, g)
		}
	})
}

// TestNextHolderIsNamed: the holder changes, and the node that a waiter watches does
// not. The waiter does not read the name at each look, but every ten seconds.
func TestNextHolderIsNamed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, v *virtual) {
		other := newVirtual(t, v.server)
		g := testkit.MustTry(t, v, named("key", "first"))
		second := testkit.StartWaiter(t, v, named("key", "second"))
		synctest.Wait()
		last := named("key", "last")
		mustName := func(want string) {
			t.Helper()
			if held, _ := errors.AsType[*driver.HeldError](enqueue(t, other, last)); held == nil || held.Holder != want {
				t.Errorf("held by %#v, want %s", held, want)
			}
		}
		mustName("")
		var reads atomic.Int32
		v.server.On(opGetData, func(string) fate { reads.Add(1); return served })
		for range 9 {
			mustName("first")
			time.Sleep(time.Second)
		}
		if n := reads.Load(); n != 1 {
			t.Errorf("%d reads of the name, want one", n)
		}
		testkit.MustRelease(t, v, g)
		g = second.Served(t)
		time.Sleep(time.Second)
		mustName("second")
		testkit.MustRelease(t, v, g)
	})
}

func enqueue(t *testing.T, v *virtual, r driver.Request) error {
	t.Helper()
	_, err := v.Enqueue(t.Context(), r)
	return err
}

// TestForeignHolderNames: the data of another program's node is shown if it can be a
// name.
func TestForeignHolderNames(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"172.17.0.2":               "172.17.0.2", // Curator's default
		"fe80::1%eth0":             "fe80::1%eth0",
		"":                         "",
		"two words":                "",
		"a\x1b[31m":                "",
		"b\u00fcro":                "",
		strings.Repeat("long", 17): "",
	} {
		if got := zklock.HolderName([]byte(data)); got != want {
			t.Errorf("%q is shown as %q", data, got)
		}
	}
}
