package test

import (
	"bytes"
	"log/slog"
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
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	want := func(t *testing.T, want ...string) {
		t.Helper()
		if got := strings.Split(strings.TrimSpace(out.take()), "\n"); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
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

	wait := distlock.WaitingInfo{
		LockInfo: distlock.LockInfo{Name: "job", Key: "job:1"}, Wait: time.Second, Place: 2,
		Err: &distlock.HeldError{Holder: "web-3/1432", Held: time.Minute, RetryAfter: time.Second},
	}
	h.Waiting(t.Context(), wait)
	wait.Candidate = true
	h.Waiting(t.Context(), wait)
	wait = distlock.WaitingInfo{LockInfo: wait.LockInfo, Wait: 2 * time.Second, Place: 1, Local: true, Err: &distlock.HeldError{Local: true}}
	h.Waiting(t.Context(), wait)
	wait.Place, wait.Err = 0, testkit.ErrBroken
	h.Waiting(t.Context(), wait)
	want(t,
		`level=INFO msg="waiting for lock" name=job key=job:1 wait=1s holder=web-3/1432 held=1m0s place=2 queue=store`,
		`level=DEBUG msg="waiting for lock" name=job key=job:1 wait=1s holder=web-3/1432 held=1m0s place=2 queue=store`,
		`level=INFO msg="waiting for lock" name=job key=job:1 wait=2s holder="this process" place=1 queue="this process"`,
		`level=INFO msg="waiting for lock" name=job key=job:1 wait=2s err="broken pipe"`,
	)

	renewal := distlock.RenewedInfo{
		LockInfo: distlock.LockInfo{Name: "job", Key: "job\n1"}, Token: 7, Held: time.Minute, Left: time.Second,
	}
	h.Renewed(t.Context(), renewal)
	renewal.Err = testkit.ErrBroken
	h.Renewed(t.Context(), renewal)
	h.Released(t.Context(), distlock.ReleasedInfo{LockInfo: renewal.LockInfo, Token: 7, Held: time.Hour, Term: true, Err: testkit.ErrBroken})
	want(t,
		`level=DEBUG msg="lock renewed" name=job key="job\n1" token=7 held=1m0s left=1s`,
		`level=WARN msg="lock not renewed" name=job key="job\n1" token=7 held=1m0s left=1s err="broken pipe"`,
		`level=DEBUG msg="leader resigned" name=job key="job\n1" token=7 held=1h0m0s reentrant=false err="broken pipe"`,
	)
}
