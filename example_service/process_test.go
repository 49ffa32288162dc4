package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startRedis starts a redis-server that keeps nothing and is killed when the
// test ends, and returns its URL.
func startRedis(t *testing.T) string {
	t.Helper()
	const required = "DISTLOCK_TEST_REAL"
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv(required) == "1" {
			t.Fatalf("%s=1, but there is no redis-server: %v", required, err)
		}
		t.Skipf("needs a redis-server in PATH: %v", err)
	}
	var output bytes.Buffer
	for range 5 { // another process may take the port first
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().(*net.TCPAddr)
		_ = l.Close()
		cmd := exec.Command(bin, "--port", fmt.Sprint(addr.Port), "--bind", "127.0.0.1",
			"--dir", t.TempDir(), "--save", "", "--appendonly", "no")
		output.Reset()
		cmd.Stdout, cmd.Stderr = &output, &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(exited)
		}()
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have exited by itself
			<-exited
		})
		if answers(addr.String(), exited) {
			return "redis://" + addr.String() + "/0"
		}
	}
	t.Fatalf("redis-server does not start: %s", &output)
	return ""
}

// answers waits for a server. It returns false if that has exited, or takes too
// long.
func answers(addr string, exited <-chan struct{}) bool {
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-exited:
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
			if c.Ping(ctx).Err() == nil {
				return true
			}
		}
	}
}

// process is the command as a child process.
type process struct {
	addresses
	cmd    *exec.Cmd
	exited chan struct{}
}

// startProcess runs the test binary as the command. It is killed when the test
// ends, if it still runs.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{exited: make(chan struct{})}
	p.cmd = exec.Command(self, append([]string{"-http", "127.0.0.1:0", "-grpc", "127.0.0.1:0"}, args...)...)
	p.cmd.Env = append(os.Environ(), childEnv+"=1")
	var stderr logBuffer
	p.cmd.Stderr = &stderr
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout = w
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	go func() {
		_ = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.exited
		_ = out.Close()
		if t.Failed() {
			t.Logf("process %d: %v\n%s", p.cmd.Process.Pid, p.cmd.ProcessState, &stderr)
		}
	})
	var ok bool
	if p.addresses, ok = readAddresses(out); !ok {
		t.Fatal("the process does not start")
	}
	return p
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// wait waits for the end and returns how it was.
func (p *process) wait(t *testing.T) *os.ProcessState {
	t.Helper()
	select {
	case <-p.exited:
		return p.cmd.ProcessState
	case <-time.After(20 * time.Second):
		t.Fatal("the process does not end")
		return nil
	}
}

// TestTwoProcesses shares the locks and the database between two processes, and
// stops each with one of the two signals.
func TestTwoProcesses(t *testing.T) {
	t.Parallel() // it mostly waits
	const stock, orders = 100, 300
	args := []string{"-backend", startRedis(t), "-db", filepath.Join(t.TempDir(), "shop.db")}
	a, b := startProcess(t, args...), startProcess(t, args...)
	ca, cb := newClient(t, a.addresses), newClient(t, b.addresses)
	ca.set(t, "tea", stock)
	sales, soldOut := orderAll(t, orders, true, "tea", ca, cb)
	if soldOut != orders-stock {
		t.Errorf("%d sold out, want %d", soldOut, orders-stock)
	}
	checkSale(t, stock, sales, cb.item(t, "tea"))

	a.signal(t, syscall.SIGTERM)
	b.signal(t, os.Interrupt)
	for _, p := range []*process{a, b} {
		if state := p.wait(t); !state.Success() {
			t.Error(state)
		}
	}
}

// TestKilledHolder kills a process that holds a lock, without a warning. The
// other one gets it when the lease has run out.
func TestKilledHolder(t *testing.T) {
	t.Parallel() // it mostly waits
	url := startRedis(t)
	args := []string{"-backend", url, "-db", filepath.Join(t.TempDir(), "shop.db")}
	dying := startProcess(t, append(args, "-think", "1h")...)
	living := newClient(t, startProcess(t, args...).addresses)
	living.set(t, "tea", 10)

	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	store := &lockStore{client: redis.NewClient(opts)}
	defer store.client.Close()
	cut := make(chan result, 1)
	go func() { cut <- newClient(t, dying.addresses).orderHTTP(t.Context(), "", "tea") }()
	eventually(t, "the order holds the lock", func() bool { return store.held(t, "tea") })

	waited := make(chan result, 1)
	go func() { waited <- living.orderGRPC(t.Context(), true, "tea") }()
	dying.signal(t, syscall.SIGKILL)
	killed := time.Now()
	if r := <-cut; r.err == nil {
		t.Errorf("the killed process has sold: %+v", r)
	}
	if r := <-waited; r.err != nil || r.Remaining != 9 {
		t.Errorf("%+v", r)
	}
	lease := itemLock(config{}).KeyTimeout
	t.Logf("served %v after the kill, with a lease of %v", time.Since(killed), lease)
	if d := time.Since(killed); d > lease+2*time.Second {
		t.Errorf("served only %v after the kill", d)
	}
	if it := living.item(t, "tea"); it.Stock != 9 || it.Sold != 1 {
		t.Errorf("%+v", it)
	}
}

// TestSecondSignal interrupts a process that waits for an order, and then does
// not want to wait.
func TestSecondSignal(t *testing.T) {
	redis := newStore(t)
	p := startProcess(t, "-backend", redis.url, "-db", filepath.Join(t.TempDir(), "shop.db"), "-think", "1h")
	c := newClient(t, p.addresses)
	c.set(t, "tea", 10)
	cut := make(chan result, 1)
	go func() { cut <- c.orderHTTP(t.Context(), "", "tea") }()
	eventually(t, "the order holds the lock", func() bool { return redis.held(t, "tea") })
	p.signal(t, os.Interrupt)
	eventually(t, "nobody listens", func() bool {
		conn, err := net.DialTimeout("tcp", p.http, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	begun := time.Now()
	eventually(t, "the process ends", func() bool {
		// Again, because one may come before the first has been dealt with.
		_ = p.cmd.Process.Signal(os.Interrupt)
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	})
	if state := p.wait(t); state.Success() || time.Since(begun) > 5*time.Second {
		t.Errorf("%v after %v", state, time.Since(begun))
	}
	if r := <-cut; r.err == nil {
		t.Errorf("%+v", r)
	}
}
