package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// output is a buffer that several goroutines write to.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// take returns what was written since the last call.
func (o *output) take() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.buf.Reset()
	return o.buf.String()
}

func TestLogHooks(t *testing.T) {
	var out output
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
	want := func(t *testing.T, want ...string) {
		t.Helper()
		wantLines(t, strings.Split(strings.TrimSpace(out.take()), "\n"), want...)
	}
	h := distlock.LogHooks(log)
	hooked(t, h, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		o := distlock.Opts{Prefix: "shop:", Value: "pay", MaxHold: 500 * time.Millisecond}
		lease := testkit.MustAcquire(t, l, "7", o)
		again, err := l.Acquire(lease.Context(), "7", o)
		wantIs(t, err)
		wantIs(t, again.Release(t.Context()))
		_, _ = l.TryAcquire(t.Context(), "7", o)
		want(t,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock acquired" name=shop:pay key=shop:7 token=1 wait=0s reentrant=false handed_over=false`,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock acquired" name=shop:pay key=shop:7 token=1 wait=0s reentrant=true handed_over=false`,
			`level=DEBUG msg="lock released" name=shop:pay key=shop:7 token=1 held=0s reentrant=true err=<nil>`,
			`level=DEBUG msg="lock wanted" name=shop:pay key=shop:7`,
			`level=DEBUG msg="lock not acquired" name=shop:pay key=shop:7 wait=0s err="distlock: acquire \"shop:7\": lock not acquired: held by this process, 500ms left"`,
		)
		time.Sleep(time.Second)
		_ = lease.Release(t.Context())
		synctest.Wait() // the loss is logged on another goroutine
		want(t,
			`level=WARN msg="lock lost" name=shop:pay key=shop:7 token=1 held=500ms err="lock lost: held for MaxHold, 500ms"`,
			`level=DEBUG msg="lock released" name=shop:pay key=shop:7 token=1 held=1s reentrant=false err="distlock: release \"shop:7\": lock lost: held for MaxHold, 500ms"`,
		)
	})

	e := distlock.Event{Kind: distlock.Waiting, Name: "job", Key: "job\n1", Wait: time.Second, Place: 2, Err: testkit.ErrBroken}
	h.Event(t.Context(), e) // not of a context of Start
	e = distlock.Event{Kind: distlock.Renewed, Name: e.Name, Key: e.Key, Token: 7, Held: time.Minute, Left: time.Second}
	h.Event(t.Context(), e)
	e = distlock.Event{Kind: distlock.Released, Name: e.Name, Key: e.Key, Token: 7, Held: time.Hour, Leader: true}
	h.Event(t.Context(), e)
	e.Err = &distlock.Error{Op: "release", Key: e.Key, Err: distlock.ErrUnavailable}
	h.Event(t.Context(), e)
	want(t,
		`level=DEBUG msg="waiting for lock" name=job key="job\n1" waiters=1 longest=1s err="broken pipe"`,
		`level=DEBUG msg="lock renewed" name=job key="job\n1" token=7 held=1m0s left=1s`,
		`level=DEBUG msg="leader resigned" name=job key="job\n1" token=7 held=1h0m0s reentrant=false err=<nil>`,
		`level=WARN msg="lock not released" name=job key="job\n1" token=7 held=1h0m0s err="distlock: release \"job\\n1\": lock backend unavailable"`,
	)
}

// Callers that wait for one key have one line together, whatever their number, at 1, 2, 4
// seconds and so on. Each key has its own.
func TestLogHooksOfACrowd(t *testing.T) {
	logged(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store, lines func() []string) {
		there := testkit.NewLocker(t, s, distlock.Config{Holder: "there/2"})
		first := testkit.MustAcquire(t, there, "k", distlock.Opts{KeyTimeout: time.Hour})
		testkit.MustAcquire(t, there, "other", distlock.Opts{KeyTimeout: time.Hour})
		o := distlock.Opts{Value: "job", MaxWait: time.Hour}
		var crowd sync.WaitGroup
		for range 1000 {
			crowd.Go(func() {
				_ = l.Do(t.Context(), "k", o, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
			})
		}
		time.Sleep(2500 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		_, err := l.Acquire(ctx, "other", o)
		wantIs(t, err, distlock.ErrNotAcquired, context.DeadlineExceeded)
		lead, resign := context.WithTimeout(t.Context(), time.Minute)
		defer resign()
		go func() { _ = l.Lead(lead, "other", o, stay) }() // on the debug level
		time.Sleep(8500 * time.Millisecond)
		wantIs(t, first.Release(t.Context()))
		crowd.Wait()
		got := lines()
		for i := range got { // any of the crowd may write the line
			got[i] = strings.TrimSuffix(got[i], " place=1")
		}
		wantLines(t, got,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1000 longest=1s holder=there/2 held=1s`,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1000 longest=2s holder=there/2 held=2s`,
			`level=INFO msg="waiting for lock" name=job key=other waiters=1 longest=1s holder=there/2 held=3.5s`,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1000 longest=4s holder=there/2 held=4s`,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1000 longest=8s holder=there/2 held=8s`,
		)
		again := testkit.MustAcquire(t, l, "k", o) // a new crowd, one of which gives up: the longest wait is another one's
		for _, wait := range []time.Duration{1900 * time.Millisecond, 6 * time.Second} {
			crowd.Go(func() { _, _ = l.Acquire(t.Context(), "k", distlock.Opts{Value: "job", MaxWait: wait}) })
			time.Sleep(500 * time.Millisecond)
		}
		crowd.Wait()
		wantIs(t, again.Release(t.Context()))
		wantLines(t, lines(),
			`level=INFO msg="waiting for lock" name=job key=k waiters=2 longest=1s holder="this process" held=1s`,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1 longest=2s holder="this process" held=2.5s`,
			`level=INFO msg="waiting for lock" name=job key=k waiters=1 longest=4s holder="this process" held=4.5s`,
		)
	})
}

// A function that goes on after its lease is one warning for callers that wait, and one for
// callers that do not.
func TestLogHooksOfAFunctionThatHangs(t *testing.T) {
	logged(t, func(t *testing.T, l *distlock.Locker, _ *testkit.Store, lines func() []string) {
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{Value: "job", MaxHold: 500 * time.Millisecond})
		var crowd sync.WaitGroup
		for range 10 {
			crowd.Go(func() { _, _ = l.Acquire(t.Context(), "k", distlock.Opts{Value: "job", MaxWait: time.Minute}) })
		}
		time.Sleep(5 * time.Second)
		for range 10 {
			_, _ = l.TryAcquire(t.Context(), "k", distlock.Opts{Value: "job"})
		}
		text := strings.Join(lines(), "\n")
		for _, msg := range []string{"lock lost", "waiting for lock", "lock not acquired"} {
			if n := strings.Count(text, `level=WARN msg="`+msg); n != 1 {
				t.Errorf("%d warnings %q in\n%s", n, msg, text)
			}
		}
		_ = held.Release(t.Context())
		crowd.Wait()
	})
}

// Renewals that fail for one reason have a line for the first, and then lines with counts.
func TestLogHooksOfAnOutage(t *testing.T) {
	logged(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store, lines func() []string) {
		for n := range 100 {
			testkit.MustAcquire(t, l, strconv.Itoa(n), distlock.Opts{Value: "job", KeyTimeout: time.Minute})
		}
		s.Before(func(_ context.Context, c *testkit.Call) error {
			if c.Op == testkit.Renew {
				return fmt.Errorf("read tcp :%d: reset", 40_000+len(c.Owner)*len(c.Key)) // from any port
			}
			return nil
		})
		time.Sleep(59 * time.Second)
		s.Fail(nil)
		var single, counted, more int
		for _, line := range lines() {
			n := 0
			if _, count, found := strings.Cut(line, `level=WARN msg="lock not renewed" more=`); !found {
				single++
			} else if _, err := fmt.Sscan(count, &n); err == nil {
				counted, more = counted+1, more+n
			}
			if !strings.Contains(line, `"lock not renewed"`) {
				t.Error(line)
			}
		}
		if single != 1 || counted < 1 || counted > 10 || more < 99 {
			t.Errorf("%d lines of single renewals, and %d with counts of %d", single, counted, more)
		}
	})
}

// From the seventeenth on, all further reasons are one.
func TestLogHooksOfManyReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out output
		h := distlock.LogHooks(slog.New(slog.NewTextHandler(&out, nil)))
		for reason := range 30 {
			h.Event(t.Context(), distlock.Event{Kind: distlock.Renewed, Err: errors.New(string(rune('A' + reason)))})
		}
		if n := strings.Count(out.take(), "\n"); n != 17 {
			t.Errorf("%d lines", n)
		}
		time.Sleep(time.Minute) // the last line
	})
}

// logged runs f in a bubble with a Locker that logs from the info level on; lines returns
// what it has logged since the last call.
func logged(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *testkit.Store, lines func() []string)) {
	t.Helper()
	var out output
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	bubbleWith(t, distlock.Config{Hooks: distlock.LogHooks(log)}, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		f(t, l, s, func() []string {
			synctest.Wait()
			return strings.Split(strings.TrimSpace(out.take()), "\n")
		})
	})
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
