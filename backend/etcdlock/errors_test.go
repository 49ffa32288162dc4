package etcdlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/distlock-go/distlock/backend/etcdlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/etcdtest"
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

// If no server listens, each call says so, with the address and the cause. On a busy machine
// a connection may not be refused before the call ends.
func TestNoServer(t *testing.T) {
	t.Parallel()
	const addr = "127.0.0.1:1"
	b := newBackend(t, newClient(t, addr), etcdlock.Config{OpTimeout: 100 * time.Millisecond})
	says := func(err error) bool { return err == nil || strings.Contains(err.Error(), "connection refused") }
	var all map[string]error
	testkit.Eventually(t, "each call says so", func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := b.TryAcquire(ctx, testkit.NewRequest(t.Name()))
		all = calls(context.Background(), b, t.Name())
		all["TryAcquire with a short deadline"] = err
		for _, err := range all {
			if !says(err) {
				return false
			}
		}
		return true
	})
	for name, err := range all {
		checkError(t, name, err, "etcdlock: "+addr+": ")
	}
}

// If the server hangs, each call says how long it has waited.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	s := etcdtest.Start(t)
	b := newBackend(t, newClient(t, s.Addr()), etcdlock.Config{OpTimeout: 300 * time.Millisecond})
	testkit.Eventually(t, "the server answers", func() bool { return b.Ping(context.Background()) == nil })
	s.Stop(t)
	defer s.Cont(t)
	for name, err := range calls(context.Background(), b, t.Name()) {
		checkError(t, name, err, "etcdlock: "+s.Addr()+": ", "no answer within 300ms")
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	c := newClient(t, shared.Server(t).Addr())
	b := newBackend(t, c)
	g := testkit.MustTry(t, b, testkit.NewRequest(t.Name()))
	w := startWaiter(t, b, c, testkit.NewRequest(t.Name()))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	<-w.Done
	checkError(t, "Acquire that waits", w.Err, "etcdlock: the Backend is closed")
	_, err := b.TryAcquire(context.Background(), testkit.NewRequest(t.Name()))
	checkError(t, "TryAcquire", err, "etcdlock: the Backend is closed")
	checkError(t, "Release", b.Release(context.Background(), g), "etcdlock: the Backend is closed")
	if left := places(t, c, g.Key); len(left) > 0 {
		t.Errorf("left in etcd: %q", left)
	}
	if fences, err := c.Get(context.Background(), etcdlock.FenceOf(b), clientv3.WithCountOnly()); err != nil || fences.Count > 0 {
		t.Errorf("the fence is left in etcd: %v", err)
	}
}
