package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// errGone is the error of a store that is unavailable.
var errGone = errors.New("redislock: 10.1.2.3:6379: dial tcp 10.1.2.3:6379: connect: connection refused")

// outage is a shop's monitor over a store that can fail.
type outage struct {
	*testing.T
	*monitor
	store  *testkit.Store
	locker *distlock.Locker
	text   bytes.Buffer // the log
	served []bool       // the states set in gRPC's health service, without repetitions
}

// watched runs f in a bubble, with a running monitor.
func watched(t *testing.T, f func(o *outage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &outage{T: t, store: testkit.NewStore()}
		log := slog.New(slog.NewTextHandler(&o.text, nil))
		o.monitor = newMonitor(log)
		o.locker = distlock.New(o.store, distlock.Config{Hooks: o.hooks()})
		o.ping = o.locker.Ping
		o.serve = func(ok bool) {
			if n := len(o.served); n == 0 || o.served[n-1] != ok {
				o.served = append(o.served, ok)
			}
		}
		defer func() {
			o.store.Fail(nil)
			if err := o.locker.Close(); err != nil {
				t.Error(err)
			}
		}()
		stop := o.start(t.Context())
		defer stop()
		<-time.After(askEvery / 2) // between two pings
		f(o)
	})
}

// order locks an item for a moment, as orders do that wait for ten seconds, and
// returns how long it took.
func (o *outage) order() (time.Duration, error) {
	start := time.Now()
	err := o.locker.Do(o.Context(), "shop:item", distlock.Opts{RetryCount: 15}, func(context.Context) error { return nil })
	return time.Since(start), err
}

// healthz returns the status of the shop's health check.
func (o *outage) healthz() int {
	a := &httpAPI{monitor: o.monitor, log: slog.New(slog.DiscardHandler)}
	w := httptest.NewRecorder()
	a.health(w, httptest.NewRequest("GET", "/healthz", nil))
	if strings.Contains(w.Body.String(), "10.1.2.3") {
		o.Errorf("the answer shows the store: %s", w.Body)
	}
	return w.Code
}

// written returns the log, after the monitor has written its current line.
func (o *outage) written() string {
	synctest.Wait()
	return o.text.String()
}

// logged compares the log without times.
func (o *outage) logged(want ...string) {
	o.Helper()
	got := regexp.MustCompile(`(?m)^time=\S+ |since=\S+ `).ReplaceAllString(o.written(), "")
	if got != strings.Join(want, "") {
		o.Errorf("the log has\n%s\nwant\n%s", got, strings.Join(want, ""))
	}
}

const downLine = `level=ERROR msg="locks are unavailable" err="distlock: ping: lock backend unavailable: ` +
	`redislock: 10.1.2.3:6379: dial tcp 10.1.2.3:6379: connect: connection refused"` + "\n"

// TestOutage makes the store unavailable for a minute, while an order comes each second.
func TestOutage(t *testing.T) {
	watched(t, func(o *outage) {
		for range 10 {
			if _, err := o.order(); err != nil || o.healthz() != http.StatusOK {
				o.Fatal(err)
			}
			<-time.After(time.Second)
		}
		o.logged()

		o.store.Fail(errGone, testkit.Ping, testkit.Try, testkit.Wait, testkit.Release)
		gone := time.Now()
		refused := make(chan error, 100)
		for i := range 60 {
			go func() {
				d, err := o.order()
				if late := i >= 3; late != (d == 0) { // the store failed half a second before the first order
					err = fmt.Errorf("order %d waited for %v", i, d)
				}
				refused <- err
			}()
			<-time.After(time.Second)
			if status := o.healthz(); status != http.StatusServiceUnavailable {
				o.Errorf("%v after the end of the store: healthz %d", time.Since(gone), status)
			}
		}
		for range 60 {
			if err := <-refused; !errors.Is(err, distlock.ErrUnavailable) || !strings.Contains(err.Error(), "10.1.2.3:6379: connect: connection refused") {
				o.Error(err)
			}
		}
		o.logged(downLine)

		o.store.Fail(nil)
		<-time.After(2 * askEvery)
		if _, err := o.order(); err != nil || o.healthz() != http.StatusOK {
			o.Errorf("healthz %d, %v", o.healthz(), err)
		}
		o.logged(downLine, `level=INFO msg="locks are available again" after=1m1s requests_refused=60 locks_not_released=0`+"\n")
		synctest.Wait()
		if fmt.Sprint(o.served) != "[true false true]" {
			o.Errorf("gRPC was told %v", o.served)
		}
	})
}

// TestOutageBetweenPings has an outage that is over before the next ping: nothing was
// refused, so nothing is logged.
func TestOutageBetweenPings(t *testing.T) {
	watched(t, func(o *outage) {
		o.store.Fail(errGone, testkit.Ping, testkit.Try, testkit.Wait)
		<-time.After(askEvery / 4)
		o.store.Fail(nil)
		<-time.After(10 * askEvery)
		o.logged()
	})
}

// TestStoreThatRefuses has a store that answers pings and grants no locks, like a store
// that is out of memory. The shop is healthy, but the problem is logged.
func TestStoreThatRefuses(t *testing.T) {
	watched(t, func(o *outage) {
		oom := errors.New("10.1.2.3:6379: OOM command not allowed")
		o.store.Fail(oom, testkit.Try, testkit.Wait)
		for range 3 {
			if d, err := o.order(); !errors.Is(err, distlock.ErrUnavailable) || d == 0 {
				o.Errorf("%v after %v", err, d)
			}
			if status := o.healthz(); status != http.StatusOK {
				o.Errorf("healthz %d", status)
			}
			<-time.After(askEvery)
		}
		o.store.Fail(nil)
		<-time.After(2 * askEvery)
		text := o.written()
		if n := strings.Count(text, "locks are unavailable"); n == 0 || n > 3 || strings.Count(text, "OOM command not allowed") != n ||
			strings.Count(text, "locks are available again") != n || strings.Count(text, "requests_refused=1 ") != n {
			o.Errorf("the log has\n%s", text)
		}
	})
}

// TestLocksThatStay counts the locks that an outage leaves behind, and lets holders
// finish that re-enter their lock.
func TestLocksThatStay(t *testing.T) {
	watched(t, func(o *outage) {
		opts := distlock.Opts{RetryCount: 1, KeyTimeout: time.Hour}
		err := o.locker.Do(o.Context(), "shop:item", opts, func(ctx context.Context) error {
			o.store.Fail(errGone, testkit.Ping, testkit.Try, testkit.Wait, testkit.Release)
			<-time.After(2 * patience)
			return o.locker.Do(ctx, "shop:item", opts, func(ctx context.Context) error { return ctx.Err() })
		})
		if !errors.Is(err, distlock.ErrUnavailable) || errors.Is(err, distlock.ErrNotAcquired) || errors.Is(err, context.Canceled) {
			o.Errorf("err = %v, want that it was not given back", err)
		}
		o.store.Fail(nil)
		<-time.After(2 * askEvery)
		o.logged(downLine, `level=INFO msg="locks are available again" after=8s requests_refused=0 locks_not_released=1`+"\n")
	})
}

// TestHealthChecksDoNotPileUp behind a store that hangs.
func TestHealthChecksDoNotPileUp(t *testing.T) {
	watched(t, func(o *outage) {
		var asked atomic.Int32
		o.store.Before(func(ctx context.Context, c *testkit.Call) error {
			if c.Op != testkit.Ping {
				return nil
			}
			defer asked.Add(-1)
			if n := asked.Add(1); n > 1 {
				o.Errorf("%d pings at once", n)
			}
			<-ctx.Done()
			return ctx.Err()
		})
		<-time.After(askEvery + askFor)
		for range 1000 {
			start := time.Now()
			if status := o.healthz(); status != http.StatusServiceUnavailable || time.Since(start) > 0 {
				o.Fatalf("healthz %d after %v", status, time.Since(start))
			}
		}
		if d, err := o.order(); !errors.Is(err, distlock.ErrUnavailable) || d > 0 {
			t.Errorf("%v after %v", err, d)
		}
		if pings := len(o.store.Calls(testkit.Ping)); pings < 2 {
			o.Errorf("%d pings in all", pings)
		}
	})
}
