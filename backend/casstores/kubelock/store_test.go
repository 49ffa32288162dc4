package kubelock_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/casstores/kubelock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/kubetest"
	"github.com/distlock-go/distlock/internal/test/spoilnet"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// closing returns a backend on d that is closed with the test.
func closing(t *testing.T, d *kubetest.Double) driver.Backend {
	b := open(t, d.Dial)
	t.Cleanup(func() { _ = b.(io.Closer).Close() })
	return b
}

// What the server refuses, the error names, with the server and the namespace.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(d *kubetest.Double)
		r     driver.Request
		want  string
	}{
		"a right is missing": {func(d *kubetest.Double) { d.Denied = "watch" }, testkit.NewRequest("key"), "the account may not watch leases: give it a Role"},
		"too many requests":  {func(d *kubetest.Double) { d.Busy = true }, testkit.NewRequest("key"), "POST: 429 TooManyRequests: the double says so"},
		"another object": {func(d *kubetest.Double) {
			d.Put("ADDED", kubetest.Lease{"metadata": map[string]any{"name": kubelock.NameOf("key")}})
		}, testkit.NewRequest("key"), "distlock/key, which is \"key\""},
		"no record":     {func(d *kubetest.Double) { d.Put("ADDED", kubelock.ObjectOf("key", "")) }, testkit.NewRequest("key"), ", and distlock/record"},
		"another proxy": {func(d *kubetest.Double) { d.Proxy = true }, testkit.NewRequest("key"), "POST: 404 : <html>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := kubetest.NewDouble(t)
				c.spoil(d)
				_, err := closing(t, d).TryAcquire(t.Context(), c.r)
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), `kubernetes: http://double: namespace "shop": `) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if !errors.Is(err, driver.ErrForeign) && !errors.Is(err, driver.ErrNotSent) {
					t.Errorf("%v does not say that nothing was sent", err)
				}
				// A write that the server was too busy for was not carried out. One that a proxy has
				// answered may have been.
				d = kubetest.NewDouble(t)
				b := closing(t, d)
				testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest("key"))) // the next attempt only writes
				c.spoil(d)
				if _, err := b.TryAcquire(t.Context(), c.r); (d.Busy || d.Proxy) && errors.Is(err, driver.ErrNotSent) != d.Busy {
					t.Errorf("%v says that nothing was sent; want %v", err, d.Busy)
				}
			})
		})
	}
}

// Waiters keep their places, and look as rarely as the server is slow: 20 wait for a minute, in
// one process.
func TestWaitersDoNotPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := kubetest.NewDouble(t)
		d.Latency = 10 * time.Millisecond
		holder, locker := distlock.New(open(t, d.Dial), distlock.Config{}), distlock.New(open(t, d.Dial), distlock.Config{})
		defer locker.Close()
		defer holder.Close()
		l, err := holder.Acquire(t.Context(), "key", distlock.Opts{KeyTimeout: 30 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 20 {
			go func() { _, _ = locker.Acquire(ctx, "key", distlock.Opts{KeyTimeout: 30 * time.Second}) }()
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		before := d.Count()
		time.Sleep(time.Minute)
		synctest.Wait()
		sent := d.Count()
		for verb := range sent {
			sent[verb] -= before[verb]
		}
		t.Log(sent)
		if sent["get"] > 45 || sent["patch"] > 20 || sent["list"]+sent["watch"]+sent["create"] > 0 {
			t.Errorf("in a minute: %v", sent)
		}
		cancel()
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// A waiter gets the key at once after each kind of end of its watch.
func TestWatch(t *testing.T) {
	for name, spoil := range map[string]func(d *kubetest.Double){
		"nothing":       func(*kubetest.Double) {},
		"cut":           (*kubetest.Double).Cut,
		"box deleted":   func(d *kubetest.Double) { d.Drop("") },
		"after minutes": func(*kubetest.Double) { time.Sleep(20 * time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := kubetest.NewDouble(t)
				holder, waiter := distlock.New(open(t, d.Dial), distlock.Config{}), distlock.New(open(t, d.Dial), distlock.Config{})
				defer waiter.Close()
				defer holder.Close()
				for range 2 {
					l, err := holder.Acquire(t.Context(), "key", distlock.Opts{KeyTimeout: time.Minute})
					if err != nil {
						t.Fatal(err)
					}
					got := make(chan time.Time)
					go func() {
						next, err := waiter.Acquire(t.Context(), "key", distlock.Opts{KeyTimeout: time.Minute})
						if err == nil {
							err = next.Release(t.Context())
						}
						if err != nil {
							t.Error(err)
						}
						got <- time.Now()
					}()
					time.Sleep(time.Second)
					spoil(d)
					time.Sleep(1500 * time.Millisecond)
					released := time.Now()
					if err := l.Release(t.Context()); err != nil {
						t.Fatal(err)
					}
					if took := (<-got).Sub(released); took > 10*time.Millisecond {
						t.Errorf("the waiter got the key after %v", took)
					}
				}
				if n := d.Count()["watch"]; name == "nothing" && n != 2 { // one for each process
					t.Errorf("%d watches", n)
				}
			})
		})
	}
}

// An object that nobody has written for two days goes, and no other.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := kubetest.NewDouble(t)
		kubelock.SweepOne(16)
		defer kubelock.SweepOne(1 << 20)
		b := closing(t, d)
		for _, age := range []string{"old", "young"} {
			for i := range 500 {
				d.Put("ADDED", kubelock.ObjectOf(fmt.Sprint(age, i), `{"form":1}`))
			}
			time.Sleep(2 * time.Hour)
		}
		time.Sleep(45 * time.Hour)
		for i := range 800 { // one in 16 sweeps one in 256
			testkit.MustRelease(t, b, testkit.MustTry(t, b, testkit.NewRequest(fmt.Sprint("new", i))))
		}
		synctest.Wait()
		now := d.Count()
		left := slices.DeleteFunc(d.Keys(), func(k string) bool { return !strings.HasPrefix(k, "old") })
		if len(d.Keys())-len(left) != 1300 || len(left) < 250 || len(left) > 490 || now["list"] > 100 {
			t.Errorf("%d old objects are left, and %d others; %v", len(left), len(d.Keys())-len(left), now)
		}
	})
}

// A sweep leaves an object that was written between its reading and its deletion.
func TestSweepBesideAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := kubetest.NewDouble(t)
		kubelock.SweepOne(1)
		defer kubelock.SweepOne(1 << 20)
		d.Put("ADDED", kubelock.ObjectOf("old", `{"form":1}`))
		time.Sleep(49 * time.Hour)
		b := closing(t, d)
		_ = b.(driver.Pinger).Ping(t.Context()) // the check is over
		d.Latency = 10 * time.Millisecond
		time.AfterFunc(15*time.Millisecond, func() { testkit.MustTry(t, b, testkit.NewRequest("old")) }) // its write is after the list
		testkit.MustTry(t, b, testkit.NewRequest("new47"))                                               // its label is that of old
		time.Sleep(time.Second)
		if n := d.Count(); n["delete"] != 1 || !slices.Contains(d.Keys(), "old") {
			t.Errorf("%v, left are %q", n, d.Keys())
		}
	})
}

// Close waits for the last message, and leaves no object of messages behind.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := kubetest.NewDouble(t)
		d.Latency = 10 * time.Millisecond
		holder, waiter := open(t, d.Dial).(testkit.Queue), open(t, d.Dial).(testkit.Queue)
		g := testkit.MustTry(t, holder, testkit.NewRequest("key"))
		_, _ = waiter.Enqueue(t.Context(), testkit.NewRequest("key"))
		testkit.MustRelease(t, holder, g)
		_ = holder.(io.Closer).Close()
		sent := d.Count()["patch"]
		time.Sleep(time.Second)
		_ = waiter.(io.Closer).Close()
		if n := d.Count()["patch"]; n != sent || slices.Contains(d.Keys(), "") {
			t.Errorf("%d messages or writes after Close, left are %q", n-sent, d.Keys())
		}
	})
}

// The token of a pod is read again for each request.
func TestInPod(t *testing.T) {
	var token string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		_ = json.NewEncoder(w).Encode(map[string]any{})
	}))
	defer s.Close()
	if _, _, err := kubelock.InPod(); err == nil || !strings.Contains(err.Error(), "KUBERNETES_SERVICE_HOST") {
		t.Errorf("not in a pod: %v", err)
	}
	dir := podOf(t, s.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), "one")
	c, cfg, err := kubelock.InPod()
	if err != nil || cfg.Namespace != "shop" || cfg.Server != s.URL {
		t.Fatalf("%+v, %v", cfg, err)
	}
	defer c.CloseIdleConnections()
	for _, want := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		resp, err := c.Get(cfg.Server)
		if err != nil {
			t.Fatal(err)
		}
		if _ = resp.Body.Close(); token != "Bearer "+want {
			t.Errorf("the token is %q, want %q", token, want)
		}
	}
}

// The connection of a pod, which speaks HTTP/2, dies without a word. The first lock is taken, and
// a lease of five seconds is kept.
func TestConnectionLeadsNowhere(t *testing.T) {
	testmode.InRealTime(t)
	s := httptest.NewUnstartedServer(kubetest.NewDouble(t))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	podOf(t, s.Listener.Addr().String(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), "one")
	c, cfg, err := kubelock.InPod()
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	var n spoilnet.Network
	kubelock.TransportOf(c).DialContext = n.DialContext
	l := testkit.NewLocker(t, kubelock.New(c, cfg), distlock.Config{})
	held := testkit.MustAcquire(t, l, "held", distlock.Opts{KeyTimeout: 5 * time.Second})
	n.Cut()
	if _, err := l.TryAcquire(t.Context(), "k", distlock.Opts{}); err != nil {
		t.Error(err)
	}
	time.Sleep(6 * time.Second)
	if err := held.Check(); err != nil {
		t.Error(err)
	}
}

// podOf makes this process look like one in a pod.
func podOf(t *testing.T, addr string, ca []byte, token string) (dir string) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	dir = t.TempDir()
	for name, data := range map[string][]byte{"ca.crt": ca, "namespace": []byte("shop"), "token": []byte(token + "\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubelock.SetAccount(dir)
	return dir
}
