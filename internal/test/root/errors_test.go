package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// The error of an acquisition suggests when to try again: when the holder's lease ends,
// though not after a lease of its own length; or after the retry interval.
func TestRetryAfter(t *testing.T) {
	own := distlock.Opts{KeyTimeout: 3 * time.Second, RetryInterval: 200 * time.Millisecond, RetryCount: 1}
	held := func(left time.Duration) error { return &distlock.HeldError{RetryAfter: left} }
	for name, c := range map[string]struct {
		opts distlock.Opts
		err  error // of the store
		want time.Duration
		code distlock.Code
	}{
		"the store fails":            {own, testkit.ErrBroken, 200 * time.Millisecond, distlock.CodeUnavailable},
		"held, no hint":              {own, held(0), 200 * time.Millisecond, distlock.CodeNotAcquired},
		"held, and a hint":           {own, held(time.Second), time.Second, distlock.CodeNotAcquired},
		"held by a stranger":         {own, held(time.Hour), 3 * time.Second, distlock.CodeNotAcquired},
		"another kind of lock":       {own, distlock.ErrForeign, 200 * time.Millisecond, distlock.CodeNotAcquired},
		"the store fails, defaults":  {distlock.Opts{RetryCount: 1}, testkit.ErrBroken, distlock.DefaultRetryInterval, distlock.CodeUnavailable},
		"held by a stranger, for us": {distlock.Opts{RetryCount: 1}, held(time.Hour), distlock.DefaultKeyTimeout, distlock.CodeNotAcquired},
	} {
		bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			s.Before(func(context.Context, *testkit.Call) error { return c.err })
			_, err := l.Acquire(t.Context(), "k", c.opts)
			wantRetryAfter(t, name, err, c.code, c.want)
			_, err = testkit.AcquireAll(t.Context(), l, []string{"k", "j"}, c.opts)
			wantRetryAfter(t, name+", DoAll", err, c.code, c.want)
			s.Fail(nil)
		})
	}
}

// An error from before the request to the store suggests a time, too, if it may pass.
func TestRetryAfterInTheProcess(t *testing.T) {
	o := distlock.Opts{RetryInterval: 200 * time.Millisecond}
	bubbleWith(t, distlock.Config{MaxWaiters: 1}, func(t *testing.T, l *distlock.Locker, _ *testkit.Store) {
		s := testkit.MustAcquire(t, l, "k", o)
		reader := testkit.MustAcquire(t, l, "r", distlock.Opts{Mode: distlock.Shared})
		_, err := l.Acquire(reader.Context(), "r", o)
		wantRetryAfter(t, "upgrade", err, distlock.CodeUpgrade, 0)
		_, err = l.Acquire(reader.Context(), "r", distlock.Opts{Mode: distlock.Shared, Reentry: distlock.ReentryNone})
		wantRetryAfter(t, "re-entry", err, distlock.CodeReentry, 0)
		wantIs(t, reader.Release(t.Context()))
		waiter := make(chan error)
		go func() {
			second, err := l.Acquire(t.Context(), "k", o)
			if err == nil {
				err = second.Release(t.Context())
			}
			waiter <- err
		}()
		synctest.Wait()
		_, err = l.Acquire(t.Context(), "k", o)
		wantRetryAfter(t, "queue full", err, distlock.CodeQueueFull, 200*time.Millisecond)
		wantIs(t, s.Release(t.Context()))
		wantIs(t, <-waiter)
		_, err = l.Acquire(t.Context(), "", o)
		wantRetryAfter(t, "no key", err, distlock.CodeKey, 0)
		wantIs(t, l.Close())
		_, err = l.Acquire(t.Context(), "k", o)
		wantRetryAfter(t, "closed", err, distlock.CodeClosed, 200*time.Millisecond)
	})
}

func wantRetryAfter(t *testing.T, name string, err error, code distlock.Code, want time.Duration) {
	t.Helper()
	e := new(distlock.Error)
	if !errors.As(err, &e) || distlock.CodeOf(err) != code || e.RetryAfter != want {
		t.Errorf("%s: %v is %v, try again after %v; want %v, %v", name, err, distlock.CodeOf(err), e.RetryAfter, code, want)
	}
}

// coded has an error for each code except CodeOK, in the order of the codes.
var coded = []error{
	distlock.ErrLost,
	&distlock.Error{Op: "options", Err: testkit.ErrBroken},
	distlock.ErrKey,
	distlock.ErrUpgrade,
	distlock.ErrReentry,
	distlock.ErrNoFencing,
	distlock.ErrClosed,
	distlock.ErrUnavailable,
	distlock.ErrQueueFull,
	distlock.ErrNotAcquired,
	testkit.ErrBroken,
}

func TestCodeOf(t *testing.T) {
	t.Parallel()
	for i, err := range coded {
		want := distlock.CodeOK + 1 + distlock.Code(i)
		for _, err := range []error{err, fmt.Errorf("wrapped: %w", &distlock.Error{Op: "acquire", Err: err})} {
			if got := distlock.CodeOf(err); got != want {
				t.Errorf("%v: %v, want %v", err, got, want)
			}
		}
	}
	for err, want := range map[error]distlock.Code{
		nil: distlock.CodeOK, context.Canceled: distlock.CodeOther, &distlock.Error{Op: "ping", Err: errors.ErrUnsupported}: distlock.CodeOther,
		&distlock.HeldError{}: distlock.CodeNotAcquired, &distlock.KeyError{}: distlock.CodeKey,
		distlock.ErrForeign: distlock.CodeNotAcquired,
	} {
		if got := distlock.CodeOf(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// An error that matches several codes has the first of them, in any order of joining.
func TestCodeOrder(t *testing.T) {
	t.Parallel()
	for i, first := range coded {
		for _, second := range coded[i:] {
			want := distlock.CodeOf(first)
			for _, err := range []error{errors.Join(first, second), errors.Join(second, first)} {
				if got := distlock.CodeOf(err); got != want {
					t.Errorf("%v: %v, want %v", err, got, want)
				}
			}
		}
	}
}

// The error of an expired lease says when and why its renewal failed.
func TestLostSaysWhy(t *testing.T) {
	refused := errors.Join(errors.New("dial tcp\r\n127.0.0.1:6379"), distlock.ErrUnavailable, testkit.ErrBroken)
	const text = "dial tcp; 127.0.0.1:6379; lock backend unavailable; broken pipe"
	for name, tc := range map[string]struct {
		opts distlock.Opts
		run  func(s *distlock.Lease, fail func(error))
		want string
	}{
		"watchdog": {
			distlock.Opts{KeyTimeout: 3 * time.Second},
			func(_ *distlock.Lease, fail func(error)) { fail(refused) },
			"the lease of 3s ran out; the last renewal failed AGO ago: " + text,
		},
		"no answer": {
			distlock.Opts{KeyTimeout: 3 * time.Second, Mode: distlock.Shared},
			func(_ *distlock.Lease, fail func(error)) { fail(testkit.ErrSilent) },
			"the lease of 3s ran out; the last renewal failed AGO ago: no answer",
		},
		"Refresh": {
			distlock.Opts{KeyTimeout: 3 * time.Second},
			func(s *distlock.Lease, fail func(error)) {
				fail(refused)
				time.Sleep(time.Second)
				_ = s.Refresh(t.Context())
			},
			"the lease of 3s ran out; the last renewal failed AGO ago: " + text,
		},
		"foreign": {
			distlock.Opts{KeyTimeout: 3 * time.Second},
			func(_ *distlock.Lease, fail func(error)) { fail(fmt.Errorf("%w: hash\nlist", distlock.ErrForeign)) },
			"the store says that this owner does not have the key: lock not acquired: held by another kind of lock: hash; list",
		},
		"lost, with more": {
			distlock.Opts{KeyTimeout: 3 * time.Second},
			func(_ *distlock.Lease, fail func(error)) {
				fail(fmt.Errorf("mystore: a later holder: %w", distlock.ErrLost))
			},
			"the store says that this owner does not have the key: mystore: a later holder: lock lost",
		},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			held := testkit.MustAcquire(t, l, "k", tc.opts)
			tc.run(held, func(err error) {
				s.Fail(err, testkit.Renew)
			})
			<-held.Context().Done()
			cause := context.Cause(held.Context())
			wantIs(t, cause, distlock.ErrLost)
			if errors.Is(cause, distlock.ErrNotAcquired) || errors.Is(cause, distlock.ErrUnavailable) {
				t.Errorf("the cause matches errors of the store: %v", cause)
			}
			want := `distlock: hold "k": lock lost: ` + tc.want
			before, after, _ := strings.Cut(want, "AGO")
			got := cause.Error()
			if !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
				t.Errorf("%s, want %s", got, want)
			}
			if ago := strings.TrimSuffix(strings.TrimPrefix(got, before), after); strings.Contains(want, "AGO") {
				if d, err := time.ParseDuration(ago); err != nil || d <= 0 || d > tc.opts.KeyTimeout/3 {
					t.Errorf("%s ago", ago)
				}
			}
			s.Fail(nil)
			_ = held.Release(t.Context())
		})
	}
}

// Errors are one line, and match all errors that they contain.
func TestErrorsAreOneLine(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		errOwn := errors.New("card declined")
		lose := func(context.Context) error {
			for _, key := range []string{"a", "b"} {
				s.Steal(t, key)
			}
			return errOwn
		}
		err := l.Do(t.Context(), "a", distlock.Opts{}, lose)
		wantIs(t, err, distlock.ErrLost)
		wantLine(t, err, `card declined; distlock: release "a": lock lost: the store says that this owner does not have the key`)
		if !errors.Is(err, errOwn) {
			t.Error("the function's error is gone")
		}
		s.Memory().Drop("a")
		s.Memory().Drop("b")
		err = l.DoAll(t.Context(), []string{"a", "b"}, distlock.Opts{}, lose)
		wantIs(t, err, distlock.ErrLost)
		wantLine(t, err, `card declined; distlock: release "b": lock lost: the store says that this owner does not have the key; `+
			`distlock: release "a": lock lost: the store says that this owner does not have the key`)
		wantLine(t, distlock.Opts{RetryCount: -1, Reentry: -1}.Validate(),
			`distlock: options: Value is empty; RetryCount is negative: -1; Reentry is unknown: -1`)
		wantLine(t, &distlock.Error{Op: "acquire", Key: "a\nb", Err: errors.Join(testkit.ErrBroken, distlock.ErrUnavailable)},
			`distlock: acquire "a\nb": broken pipe; lock backend unavailable`)
	})
}
