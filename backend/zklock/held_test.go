package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

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

func mustName(tb testing.TB, err error, name string, since time.Time) {
	tb.Helper()
	held, ok := errors.AsType[*driver.HeldError](err)
	if !ok {
		tb.Fatalf("the error does not name the holder: %v", err)
	}
	if held.Holder != name {
		tb.Errorf("the holder is named %q, want %q: %v", held.Holder, name, err)
	}
	if most := time.Since(since) + time.Second; held.Held < 0 || held.Held > most {
		tb.Errorf("held for %v, and it cannot be more than %v", held.Held, most)
	}
	if strings.Contains(err.Error(), "\n") {
		tb.Errorf("the error has two lines: %v", err)
	}
}

// TestHolderNames checks that the error of every process names the holder, after one
// attempt and after a cancelled wait.
func TestHolderNames(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	admin := newAdmin(t, addr)
	b, other := newBackend(t, []string{addr}), newBackend(t, []string{addr})
	const key, web, batch = "named", "web-3/1432", "batch-1/7"
	began := time.Now()
	r := named(key, web)
	g := testkit.MustTry(t, b, r)

	infos, err := other.Inspect(context.Background(), key, 1)
	if err != nil || len(infos) != 1 || len(infos[0].Holders) != 1 {
		t.Fatalf("Inspect: %+v, %v", infos, err)
	}
	if h := infos[0].Holders[0]; h.Holder != web || h.Owner != driver.Fingerprint(r.Owner) {
		t.Errorf("another process sees the holder as %+v", h)
	}
	for name, from := range map[string]*zklock.Backend{"of the same session": b, "of another": other} {
		t.Run(name, func(t *testing.T) {
			_, err := from.TryAcquire(context.Background(), named(key, batch))
			mustName(t, err, web, began)
			if held, _ := errors.AsType[*driver.HeldError](err); held.Held <= 0 || from == b != (held.RetryAfter > 0) {
				t.Errorf("TryAcquire: %+v", held)
			}

			// There is little time to find the holder when a wait is over.
			testkit.Eventually(t, "the error after a cancelled wait names the holder", func() bool {
				w := testkit.StartWaiter(t, from, named(key, batch))
				queued(t, admin, key, 2)
				w.Cancel()
				<-w.Done
				testkit.MustRelease(t, from, w.Request.Grant())
				err = w.Err
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("Acquire that was cancelled: %v", err)
				}
				held, ok := errors.AsType[*driver.HeldError](err)
				return ok && held.Holder != ""
			})
			mustName(t, err, web, began)
		})
	}
	testkit.MustRelease(t, b, g)
}

// TestForeignHolderNames: the data of another program's node is shown if it can be a name.
func TestForeignHolderNames(t *testing.T) {
	t.Parallel()
	addr := shared.Server(t).Addr()
	b, admin := newBackend(t, []string{addr}), newAdmin(t, addr)
	for data, want := range map[string]string{
		"172.17.0.2":               "172.17.0.2", // Curator's default
		"fe80::1%eth0":             "fe80::1%eth0",
		"":                         "",
		"two words":                "",
		"a\x1b[31m":                "",
		"b\u00fcro":                "",
		strings.Repeat("long", 17): "",
	} {
		key := "of-" + uuid.NewString()
		keepParent(t, admin, key)
		path := parentOf(key) + "/_c_" + uuid.NewString() + "-lock-"
		if _, err := admin.Create(path, []byte(data), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		_, err := b.TryAcquire(context.Background(), testkit.NewRequest(key))
		mustName(t, err, want, time.Now())
		infos, err := b.Inspect(context.Background(), key, 1)
		if err != nil || len(infos) != 1 || infos[0].Holders[0].Holder != want {
			t.Errorf("Inspect of a node with %q: %+v, %v", data, infos, err)
		}
	}
}
