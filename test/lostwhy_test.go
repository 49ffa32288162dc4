package test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

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
		wantLine(t, distlock.Opts{RetryCount: -1, MaxWaiters: -1}.Validate(),
			`distlock: options: Value is empty; RetryCount is negative: -1; MaxWaiters is negative: -1`)
		wantLine(t, &distlock.Error{Op: "acquire", Key: "a\nb", Err: errors.Join(testkit.ErrBroken, distlock.ErrUnavailable)},
			`distlock: acquire "a\nb": broken pipe; lock backend unavailable`)
	})
}
