package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// TestWait waits for a lock as run does, in virtual time.
func TestWait(t *testing.T) {
	const wait, work = 3 * time.Second, 10 * time.Second
	for name, c := range map[string]struct {
		wait    time.Duration
		free    time.Duration // when the holder releases the lock; 0: after an hour
		signal  time.Duration // when a signal comes; 0: never
		want    time.Duration
		code    int // exit code of the refusal; 0: the lock is acquired
		message string
	}{
		"busy":                {wait, 0, 0, wait, 7, "another holder has deploy: held by web-3/1432 for 3s, 57s left: waited for 3s"},
		"in time":             {wait, time.Second, 0, time.Second, 0, ""},
		"without a limit":     {0, time.Minute, 0, time.Minute, 0, ""},
		"a signal":            {wait, 0, time.Second, time.Second, exitSignal + number(syscall.SIGTERM), ""},
		"a signal, no limit":  {0, 0, work, work, exitSignal + number(syscall.SIGTERM), ""},
		"a signal afterwards": {wait, time.Second, time.Minute, time.Second, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memlock.New()
				holder, locker := distlock.New(store, distlock.Config{Holder: "web-3/1432"}), distlock.New(store, distlock.Config{})
				held, err := holder.Acquire(t.Context(), "deploy", distlock.Opts{KeyTimeout: time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				if c.free > 0 {
					time.AfterFunc(c.free, func() { _ = held.Release(context.Background()) })
				}
				signals := make(chan os.Signal, 1)
				if c.signal > 0 {
					time.AfterFunc(c.signal, func() { signals <- syscall.SIGTERM })
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				r := &runner{key: "deploy", conflict: 7, opts: distlock.Opts{MaxWait: c.wait}}
				start := time.Now()
				lease, err := r.acquire(ctx, cancel, locker, signals)
				if d := time.Since(start); d != c.want {
					t.Errorf("waited for %v, want %v", d, c.want)
				}
				if c.code == 0 {
					if err != nil {
						t.Fatal(err)
					}
					<-time.After(work)
					if _, limited := lease.Context().Deadline(); limited || lease.Context().Err() != nil || lease.Check() != nil {
						t.Errorf("the lease did not last: %v", context.Cause(lease.Context()))
					}
					if err := lease.Release(ctx); err != nil {
						t.Error(err)
					}
				} else {
					exit, ok := errors.AsType[*exitError](err)
					if !ok || exit.code != c.code || !strings.Contains(exit.Error(), c.message) {
						t.Errorf("got %v, want exit code %d and %q", err, c.code, c.message)
					}
				}
				if err := errors.Join(locker.Close(), holder.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A signal ends distlock claim while the store does not confirm the lease that is handed off.
// Nothing is printed, and the key is given back.
func TestSignalEndsClaim(t *testing.T) {
	s, signal := testkit.NewStore(), make(chan error, 1)
	s.Before(func(ctx context.Context, c *testkit.Call) error {
		if c.Op != testkit.Renew {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Signal(syscall.SIGTERM)
		}
		signal <- err
		<-ctx.Done()
		return testkit.ErrSilent
	})
	var printed strings.Builder
	r := &runner{key: "deploy", opts: distlock.Opts{KeyTimeout: time.Minute}, stderr: &printed}
	err := r.claim(t.Context(), testkit.NewLocker(t, s, distlock.Config{}), &printed, false)
	if err := <-signal; err != nil {
		t.Skip(err)
	}
	if code, silent := exitCode(err); code != exitSignal+number(syscall.SIGTERM) || !silent || printed.Len() > 0 {
		t.Errorf("code %d, silent %v, and it printed %q", code, silent, printed.String())
	}
	testkit.MustBeFree(t, s, "deploy")
}

// A key of another kind of lock has no holder that does the work: the message says so, also
// with -E 0.
func TestForeignIsNotAnotherHolder(t *testing.T) {
	for conflict, code := range map[int]int{7: 7, exitOK: exitOK} {
		synctest.Test(t, func(t *testing.T) {
			store := testkit.NewStore()
			store.Fail(fmt.Errorf("%w: a hash", distlock.ErrForeign), testkit.Try)
			locker := testkit.NewLocker(t, store.Only(0), distlock.Config{})
			var out strings.Builder
			r := &runner{key: "deploy", conflict: conflict, opts: distlock.Opts{RetryCount: 1}, stderr: &out}
			_, err := r.acquire(t.Context(), func(error) {}, locker, nil)
			exit, ok := errors.AsType[*exitError](err)
			if !ok || exit.code != code {
				t.Fatalf("got %v, want exit code %d", err, code)
			}
			if text := out.String() + exit.Error(); !strings.Contains(text, "deploy is held by another kind of lock: a hash") {
				t.Errorf("said %q", text)
			}
		})
	}
}
