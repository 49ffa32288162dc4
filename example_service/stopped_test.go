package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/child"
)

// TestStoppedHolder stops a process that has read the stock and is about to write it,
// for longer than its lease. Meanwhile another process sells. Then the write of the
// first is refused by its token, and the stock is exact. The log shows the same without
// the check of the token.
func TestStoppedHolder(t *testing.T) {
	t.Parallel() // most of its time is waiting
	for _, role := range []string{lateRole, uncheckedRole} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			backend, db := onPostgres(t)
			args := []string{"-backend", backend, "-db", db}
			quick := newClient(t, startProcess(t, args...).addresses)
			quick.set(t, shown, 10)
			slow, err := startLate(role, args...)
			if err != nil {
				t.Fatal(err)
			}
			defer slow.end()
			if held, err := slow.next(); err != nil || held.Token == 0 {
				t.Fatalf("%+v, %v", held, err)
			}
			if err := child.Stop(slow.Process); err != nil {
				t.Fatal(err)
			}
			if r := quick.orderHTTP(t.Context(), "", shown); r.err != nil || r.Remaining != 9 {
				t.Errorf("after the lease of the process that is stopped: %+v", r)
			}
			if err := child.Cont(slow.Process); err != nil {
				t.Fatal(err)
			}
			if err := slow.write(); err != nil {
				t.Fatal(err)
			}
			late, err := slow.next()
			if err != nil {
				t.Fatal(err)
			}
			it := quick.item(t, shown)
			t.Logf("of 10 there are %d left and %d sold; the late order: %s", it.Stock, it.Sold, late.Result)
			if role == lateRole && (it.Stock != 9 || it.Sold != 1 || !late.Fenced) {
				t.Error("the late order was not refused by its token")
			}
		})
	}
}

// TestDemoOfStop plays the demonstration with the service as it is by default.
func TestDemoOfStop(t *testing.T) {
	t.Parallel() // most of its time is waiting
	c := newClient(t, startService(t).addresses)
	stream := c.stream(t, "/live")
	c.must(t, http.StatusAccepted, "POST", "/demo/stop", "")
	s := watch(t, stream, func(s state) bool { return s.Demo.Run == 1 && !s.Demo.Running })
	var kinds []string
	for _, step := range s.Demo.Steps {
		t.Log(step.Kind, step.Text)
		kinds = append(kinds, step.Kind)
	}
	if strings.Join(kinds, " ") != "info info bad good info good good" || !s.CanStop {
		t.Errorf("%+v", s.Demo)
	}
	if s.Item != (itemState{SKU: shown, Start: demoStock, Stock: demoStock - 1, Sold: 1}) || s.Locked != (tallyState{}) {
		t.Errorf("%+v, %+v", s.Item, s.Locked)
	}
}

// TestShutdownKillsStoppedHolder ends the service while the process of the demonstration
// is stopped, and while pages are open. It waits for neither.
func TestShutdownKillsStoppedHolder(t *testing.T) {
	t.Parallel() // most of its time is waiting
	s := startConfig(t, config{backend: "embedded", wait: time.Minute, bodyTimeout: time.Minute, grace: time.Hour})
	c := newClient(t, s.addresses)
	page, locks := c.stream(t, "/live"), c.stream(t, "/locks/events")
	c.must(t, http.StatusAccepted, "POST", "/demo/stop", "")
	last := watch(t, page, func(s state) bool { return len(s.Demo.Steps) == 3 })
	var pid int
	if _, err := fmt.Sscanf(last.Demo.Steps[2].Text, "SIGSTOP: second-shop/%d is stopped", &pid); err != nil {
		t.Fatalf("%v: %+v", err, last.Demo)
	}
	late, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if code := s.stop(t); code != exitOK {
		t.Errorf("exit %d: %s", code, s.log)
	}
	if err := child.Cont(late); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("the process is there: %v", err)
	}
	for _, stream := range []io.Reader{page, locks} {
		if _, err := io.Copy(io.Discard, stream); err != nil {
			t.Errorf("a stream was cut: %v", err)
		}
	}
}

// TestDemoOfStopEndsEarly ends the demonstration while the other process waits for a lock
// that it does not get.
func TestDemoOfStopEndsEarly(t *testing.T) {
	redis, db := newStore(t), filepath.Join(t.TempDir(), "shop.db")
	defer redis.hold(t, shown)()
	s := &stopped{backend: redis.url, db: db}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.play(ctx, func(_, text string) {
		t.Log(text)
		cancel()
	})
	if err == nil || !strings.Contains(err.Error(), "the second process ended") {
		t.Error(err)
	}
}

// withoutToken places orders that write under the lock, and whose token does not matter.
func withoutToken(sh *shop, l *distlock.Locker, lock distlock.Opts) distlock.Func[orderRequest, order] {
	lock.Params = distlock.By(func(r orderRequest) any { return r.SKU })
	return distlock.Wrap(l, func(ctx context.Context, r orderRequest) (order, error) { return sh.sell(ctx, r, nil) }, lock)
}
