package distlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/testkit"
)

// silent returns a store that never answers an attempt: it ends with its context, or after
// limit if that is not 0. In the first case the error also wraps says, if it is not nil.
func silent(limit time.Duration, says error) *testkit.Store {
	s := testkit.NewStore()
	s.Before(func(ctx context.Context, c *testkit.Call) error {
		if c.Op == testkit.Release {
			return nil
		}
		var own <-chan time.Time
		if limit > 0 {
			own = time.After(limit)
		}
		select {
		case <-own:
			return testkit.ErrBroken
		case <-ctx.Done():
			if says != nil {
				return fmt.Errorf("%w: %w", says, ctx.Err())
			}
			return ctx.Err()
		}
	})
	return s
}

// The wait for a failing store.
func TestMaxWaitInAnOutage(t *testing.T) {
	for name, acquire := range acquisitions {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				s.Fail(testkit.ErrBroken, testkit.Try, testkit.Wait)
				o := distlock.Opts{MaxWait: maxWait}
				var all sync.WaitGroup
				for range 2 { // one asks the store, the other waits for it
					all.Go(func() {
						d, err := waits(t, func(ctx context.Context) error { return acquire(ctx, l, o) })
						wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable, testkit.ErrBroken)
						if d != maxWait || err == nil || !strings.Contains(err.Error(), "waited for MaxWait, 3s: lock backend unavailable: broken pipe") {
							t.Errorf("waited for %v: %v", d, err)
						}
					})
				}
				all.Wait()
				s.Fail(nil)
				<-time.After(time.Minute)
				mustBeFree(t, s, "a", "k", "z")
			})
		})
	}
}

// The wait for a store that does not answer, with several time limits of its own.
func TestMaxWaitInSilence(t *testing.T) {
	const most = maxWait + 500*time.Millisecond
	for _, c := range []struct {
		limit time.Duration // of one operation
		want  time.Duration
		cause error
	}{
		{0, most, nil},
		{time.Hour, most, nil},
		{4 * time.Second, most, nil},
		{maxWait + 100*time.Millisecond, maxWait + 100*time.Millisecond, testkit.ErrBroken},
		{maxWait, maxWait, testkit.ErrBroken},
		{2400 * time.Millisecond, most, testkit.ErrBroken}, // another one is in progress
	} {
		for name, acquire := range acquisitions {
			for how, abilities := range map[string]testkit.Ability{"queue": testkit.Queuing, "poll": 0} {
				t.Run(fmt.Sprintf("%s/%s/limit=%v", name, how, c.limit), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						l := testkit.NewLocker(t, silent(c.limit, nil).Only(abilities), distlock.Config{})
						d, err := waits(t, func(ctx context.Context) error {
							return acquire(ctx, l, distlock.Opts{MaxWait: maxWait, RetryInterval: 100 * time.Millisecond})
						})
						if d != c.want {
							t.Errorf("waited for %v, want %v: %v", d, c.want, err)
						}
						if c.cause != nil {
							wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable, c.cause)
							return
						}
						wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable)
						if !strings.HasSuffix(err.Error(), "waited for MaxWait, 3s: lock backend unavailable: no answer by the end of MaxWait") {
							t.Errorf("%v", err)
						}
					})
				})
			}
		}
	}
}

// When MaxWait ends an operation of the store, the error contains the store's reason,
// and not the error of a context that the caller does not have.
func TestMaxWaitEndsAnOperation(t *testing.T) {
	const since = "waited for MaxWait, 3s"
	for text, c := range map[string]struct {
		says error
		want []error
	}{
		"lock not acquired: held by web-3 for 4s: " + since: {
			&distlock.HeldError{Holder: "web-3", Held: 4 * time.Second}, []error{distlock.ErrNotAcquired},
		},
		"lock not acquired: held by another kind of lock: " + since: {distlock.ErrForeign, []error{distlock.ErrForeign, distlock.ErrNotAcquired}},
		"lock not acquired: " + since:                               {distlock.ErrNotAcquired, []error{distlock.ErrNotAcquired}},
		"lock not acquired: " + since + ": lock backend unavailable: no answer by the end of MaxWait: dial redis-1: context deadline exceeded": {
			errors.New("dial redis-1"), []error{distlock.ErrNotAcquired, distlock.ErrUnavailable},
		},
	} {
		for _, abilities := range []testkit.Ability{0, testkit.Queuing} {
			synctest.Test(t, func(t *testing.T) {
				l := testkit.NewLocker(t, silent(0, c.says).Only(abilities), distlock.Config{})
				_, err := waits(t, func(ctx context.Context) error {
					_, err := l.Acquire(ctx, "k", distlock.Opts{MaxWait: maxWait})
					return err
				})
				wantIs(t, err, c.want...)
				if want := `distlock: acquire "k": ` + text; err == nil || err.Error() != want {
					t.Errorf("got  %v\nwant %s", err, want)
				}
			})
		}
	}
}
