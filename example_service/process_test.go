package main

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/backendurl"
	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/sqltest"
	"github.com/distlock-go/distlock/internal/testkit"
	"github.com/distlock-go/distlock/internal/testmode"
	"github.com/distlock-go/distlock/internal/zktest"
)

// realStores are the stores that processes can share. Each start function starts
// servers, which are killed when the test ends, and returns the values of -backend and
// -db.
var realStores = []struct {
	name  string
	start func(t *testing.T) (backend, db string)
	gone  time.Duration // how long the locks of a killed process remain, at most
}{
	{"Redis", func(t *testing.T) (backend, db string) {
		return "redis://" + redistest.Start(t).Addr() + "/0", filepath.Join(t.TempDir(), "shop.db")
	}, itemLock(config{}).KeyTimeout},
	{"ZooKeeper", func(t *testing.T) (backend, db string) {
		return "zk://" + zktest.Start(t, zktest.Config{}).Addr() + "/shop?session_timeout=6s", filepath.Join(t.TempDir(), "shop.db")
	}, 6 * time.Second},
	{"PostgreSQL", onPostgres, itemLock(config{}).KeyTimeout},
}

// onPostgres has the locks and the data in one database.
func onPostgres(t *testing.T) (backend, db string) {
	t.Helper()
	testmode.Long(t)
	url := sqltest.Postgres.NewDatabase(t)
	return url, url
}

// process is a child process.
type process struct {
	*testkit.Process
	addresses // of the command
}

// startProcess runs the test binary as the command.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Process: testkit.StartChild(t, commandRole, nil, append([]string{"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0"}, args...)...)}
	p.Hear("page on")
	p.Hear("http on", &p.http)
	p.Hear("grpc on", &p.grpc)
	return p
}

// TestTwoProcesses shares the locks and the database between two processes, and stops
// each with one of the two signals.
func TestTwoProcesses(t *testing.T) {
	t.Parallel() // most of its time is waiting
	const stock, orders = 100, 500
	for _, store := range realStores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			backend, db := store.start(t)
			args := []string{"-backend", backend, "-db", db}
			a, b := startProcess(t, args...), startProcess(t, args...)
			ca, cb := newClient(t, a.addresses), newClient(t, b.addresses)
			ca.set(t, "tea", stock)
			sales, soldOut := orderAll(t, orders, true, "tea", ca, cb)
			if soldOut != orders-stock {
				t.Errorf("%d sold out, want %d", soldOut, orders-stock)
			}
			checkSale(t, stock, sales, cb.item(t, "tea"))

			a.Signal(syscall.SIGTERM)
			b.Signal(os.Interrupt)
			for _, p := range []*process{a, b} {
				if code := p.Wait(); code != exitOK {
					t.Errorf("exit %d", code)
				}
			}
		})
	}
}

// TestKilledHolder kills a process that holds a lock. The other process gets the lock
// when the lease or the session has expired.
func TestKilledHolder(t *testing.T) {
	testmode.Long(t)
	t.Parallel() // most of its time is waiting
	for _, store := range realStores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			backend, db := store.start(t)
			args := []string{"-backend", backend, "-db", db}
			dying := startProcess(t, append(args, "-think", "1h")...)
			living := newClient(t, startProcess(t, args...).addresses)
			living.set(t, "tea", 10)

			cut := make(chan result, 1)
			go func() { cut <- newClient(t, dying.addresses).orderHTTP(t.Context(), "", "tea") }()
			testkit.Eventually(t, "the order holds the lock", heldAt(t, backend, "tea"))

			waited := make(chan result, 1)
			go func() { waited <- living.orderGRPC(t.Context(), true, "tea") }()
			dying.Kill()
			killed := time.Now()
			if r := <-cut; r.err == nil {
				t.Errorf("the killed process has sold: %+v", r)
			}
			if r := <-waited; r.err != nil || r.Remaining != 9 {
				t.Errorf("%+v", r)
			}
			t.Logf("served %v after the kill, want at most %v", time.Since(killed), store.gone)
			if d := time.Since(killed); d > store.gone+8*time.Second { // time until the lease expires, plus time for a slow machine
				t.Errorf("served only %v after the kill", d)
			}
			if it := living.item(t, "tea"); it.Stock != 9 || it.Sold != 1 {
				t.Errorf("%+v", it)
			}
		})
	}
}

// heldAt returns a function that reports whether an item is locked in the store at url.
func heldAt(t *testing.T, url, sku string) func() bool {
	t.Helper()
	b, err := backendurl.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	l := distlock.New(b.Backend, distlock.Config{})
	t.Cleanup(func() { _, _ = l.Close(), b.Close() })
	return func() bool {
		keys, err := l.Inspect(t.Context(), keyOf(t, sku), 1)
		if err != nil {
			t.Fatal(err)
		}
		return len(keys) == 1 && keys[0].Held == 1
	}
}

// TestSecondSignal interrupts a process that waits for an order, and interrupts it
// again.
func TestSecondSignal(t *testing.T) {
	redis := newStore(t)
	p := startProcess(t, "-backend", redis.url, "-db", filepath.Join(t.TempDir(), "shop.db"), "-think", "1h")
	c := newClient(t, p.addresses)
	c.set(t, "tea", 10)
	cut := make(chan result, 1)
	go func() { cut <- c.orderHTTP(t.Context(), "", "tea") }()
	testkit.Eventually(t, "the order holds the lock", func() bool { return redis.held(t, "tea") })
	p.Signal(os.Interrupt)
	testkit.Eventually(t, "nobody listens", func() bool {
		conn, err := net.DialTimeout("tcp", p.http, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	begun := time.Now()
	testkit.Eventually(t, "the process ends", func() bool {
		// Repeat the signal, because one may arrive before the first is handled. An
		// interrupt would be ignored if these tests run in the background of a script.
		_ = p.Cmd.Process.Signal(syscall.SIGTERM)
		return !p.Runs()
	})
	if code := p.Wait(); code == exitOK || time.Since(begun) > 8*time.Second { // less than the grace period
		t.Errorf("exit %d after %v", code, time.Since(begun))
	}
	if r := <-cut; r.err == nil {
		t.Errorf("%+v", r)
	}
}
