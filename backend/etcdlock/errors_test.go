package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// checkError checks an error that says nothing about the key.
func checkError(t *testing.T, what string, err error, parts ...string) {
	t.Helper()
	if err == nil || errors.Is(err, driver.ErrNotAcquired) || errors.Is(err, driver.ErrLost) {
		t.Errorf("%s: %v", what, err)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, without %q", what, err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: more than one line: %q", what, err)
	}
}

// calls makes each call that needs the server.
func calls(ctx context.Context, b *etcdlock.Backend, key string) map[string]error {
	r := testkit.NewRequest(key)
	_, try := b.TryAcquire(ctx, r)
	_, enqueue := b.Enqueue(ctx, testkit.NewRequest(key))
	_, inspect := b.Inspect(ctx, "", 1)
	_, force := b.ForceRelease(ctx, key)
	return map[string]error{
		"TryAcquire": try, "Enqueue": enqueue, "Inspect": inspect, "ForceRelease": force,
		"Ping": b.Ping(ctx), "Release": b.Release(ctx, testkit.NewRequest(key).Grant()),
	}
}

// If no server listens, each call says so, with the address and the cause. On a busy
// machine a connection may not be refused before the call ends.
func TestNoServer(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1"
	b := newBackend(t, newClient(t, addr), etcdlock.Config{OpTimeout: 100 * time.Millisecond})
	var all map[string]error
	testkit.Eventually(t, "each call says so", func() bool {
		all = calls(t.Context(), b, t.Name())
		for _, err := range all {
			if err != nil && !strings.Contains(err.Error(), "connection refused") {
				return false
			}
		}
		return true
	})
	for name, err := range all {
		checkError(t, name, err, "etcdlock: "+addr+": ")
	}
}

// If the server is silent, each call says how long it has waited. If it refuses, each says
// why, and what helps.
func TestServerIsSilent(t *testing.T) {
	for want, answer := range map[string]fate{"no answer within 5s": silent, "compact, defragment": refused} {
		t.Run(want, func(t *testing.T) {
			inVirtualTime(t, func(t *testing.T, _ *fake, b *etcdlock.Backend, s *spoiler) {
				s.each(func(int, string) fate { return answer })
				for name, err := range calls(t.Context(), b, "k") {
					checkError(t, name, err, "etcdlock: 127.0.0.1:1: ", want)
				}
			})
		})
	}
}

// A Backend that is closed leaves nothing in etcd.
func TestClosed(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, f *fake, b *etcdlock.Backend, _ *spoiler) {
		g := testkit.MustTry(t, b, testkit.NewRequest("k"))
		w := testkit.StartWaiter(t, b, testkit.NewRequest("k"))
		testkit.Eventually(t, "it waits", func() bool { return len(f.places("k")) == 2 })
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		<-w.Done
		_, err := b.TryAcquire(t.Context(), testkit.NewRequest("k"))
		for what, err := range map[string]error{"Await": w.Err, "TryAcquire": err, "Release": b.Release(t.Context(), g)} {
			checkError(t, what, err, "etcdlock: the Backend is closed (unsupported operation)")
		}
		if left := f.paths(""); len(left) > 0 {
			t.Errorf("left in etcd: %q", left)
		}
	})
}
