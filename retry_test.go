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
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
	"github.com/distlock-go/distlock/wiring"
)

const maxWait = 3 * time.Second

// waits returns the error of an acquisition that does not get the lock, and how long it
// waited. The caller's context must still be alive.
func waits(t *testing.T, acquire func(ctx context.Context) error) (time.Duration, error) {
	t.Helper()
	ctx := t.Context()
	start := time.Now()
	err := acquire(ctx)
	if ctx.Err() != nil {
		t.Errorf("the caller's context: %v", ctx.Err())
	}
	return time.Since(start), err
}

// wantBusy checks the error of a wait that MaxWait ended because another holder has the
// key.
func wantBusy(t *testing.T, err error) {
	t.Helper()
	wantIs(t, err, distlock.ErrNotAcquired)
	held := new(distlock.HeldError)
	if !errors.As(err, &held) || !strings.HasSuffix(err.Error(), ": waited for MaxWait, 3s") {
		t.Errorf("%v", err)
	}
}

// All ways to acquire a lock, which all have MaxWait.
var acquisitions = map[string]func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error{
	"Acquire": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := l.Acquire(ctx, "k", o)
		return err
	},
	"Do": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		return l.Do(ctx, "k", o, func(context.Context) error { panic("ran") })
	},
	"Call": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := distlock.Call(ctx, l, "k", o, func(context.Context) (int, error) { panic("ran") })
		return err
	},
	"Wrap": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		o.Value = "k"
		_, err := distlock.Wrap(l, func(context.Context, int) (int, error) { panic("ran") }, o)(ctx, 1)
		return err
	},
	"Site": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		o.Value = "k"
		return wiring.Bind(l, o).Do(ctx, nil, func(context.Context) error { panic("ran") })
	},
	"AcquireAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		_, err := l.AcquireAll(ctx, []string{"a", "k", "z"}, o)
		return err
	},
	"DoAll": func(ctx context.Context, l *distlock.Locker, o distlock.Opts) error {
		return l.DoAll(ctx, []string{"a", "k", "z"}, o, func(context.Context) error { panic("ran") })
	},
}

// The wait in the process.
func TestMaxWaitAtTheGate(t *testing.T) {
	for name, acquire := range acquisitions {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
				d, err := waits(t, func(ctx context.Context) error { return acquire(ctx, l, distlock.Opts{MaxWait: maxWait}) })
				wantBusy(t, err)
				if d != maxWait || keyOf(err) != "k" {
					t.Errorf("waited for %v: %v", d, err)
				}
				wantIs(t, held.Release(t.Context()))
				synctest.Wait()
				mustBeFree(t, s, "a", "k", "z")
				if l.Keys() != 0 || l.WaitingInAll() != 0 {
					t.Errorf("%d keys and %d waiters are left", l.Keys(), l.WaitingInAll())
				}
			})
		})
	}
}

// The wait for another process, in the store's queue or by polling.
func TestMaxWaitInTheStore(t *testing.T) {
	for how, abilities := range map[string]testkit.Ability{"poll": 0, "queue": testkit.Queuing} {
		for name, acquire := range acquisitions {
			t.Run(name+"/"+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := testkit.NewStore()
					l := testkit.NewLocker(t, s.Only(abilities), distlock.Config{})
					release := other(t, s, "k")
					d, err := waits(t, func(ctx context.Context) error { return acquire(ctx, l, distlock.Opts{MaxWait: maxWait}) })
					wantBusy(t, err)
					if d != maxWait || keyOf(err) != "k" {
						t.Errorf("waited for %v: %v", d, err)
					}
					held := new(distlock.HeldError)
					if errors.As(err, &held) && held.RetryAfter != time.Hour-maxWait {
						t.Errorf("the holder has %v left: %v", held.RetryAfter, err)
					}
					synctest.Wait() // it leaves the queue
					release()
					mustBeFree(t, s, "a", "k", "z")
					if l.Keys() != 0 || l.Watched() != 0 {
						t.Errorf("%d keys and %d holds are left", l.Keys(), l.Watched())
					}
				})
			})
		}
	}
}

// The function is not limited, and has no deadline.
func TestMaxWaitIsNotForTheFunction(t *testing.T) {
	const work = 10 * time.Second
	for name, waited := range map[string]time.Duration{"free": 0, "after a wait": 2 * time.Second, "at the limit": maxWait - 1} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/elsewhere=%t", name, elsewhere), func(t *testing.T) {
				bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
					if waited > 0 {
						var release func()
						if elsewhere {
							release = other(t, s, "k")
						} else {
							held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
							release = func() { wantIs(t, held.Release(context.Background())) }
						}
						time.AfterFunc(waited, release)
					}
					start := time.Now()
					err := l.Do(t.Context(), "k", distlock.Opts{MaxWait: maxWait, RetryInterval: time.Hour}, func(ctx context.Context) error {
						if d := time.Since(start); d != waited {
							t.Errorf("a release woke the waiter after %v, want %v", d, waited)
						}
						if end, ok := ctx.Deadline(); ok {
							t.Errorf("the function has a deadline: %v", time.Until(end))
						}
						select {
						case <-ctx.Done():
							t.Errorf("ended after %v: %v", time.Since(start), context.Cause(ctx))
						case <-time.After(work):
						}
						return nil
					})
					wantIs(t, err)
					if d := time.Since(start); d != waited+work {
						t.Errorf("done after %v", d)
					}
				})
			})
		}
	}
}

// A lock that becomes free exactly at the limit is either acquired or left free, and
// never remains held without a holder.
func TestMaxWaitEndsAsTheLockComesFree(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		got, missed := 0, 0
		for i := range 200 {
			bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				var release func()
				if elsewhere {
					release = other(t, s, "k")
				} else {
					held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
					release = func() { wantIs(t, held.Release(context.Background())) }
				}
				var all sync.WaitGroup
				all.Go(func() {
					if i%2 == 0 { // set the other timer first
						synctest.Wait()
					}
					<-time.After(maxWait)
					release()
				})
				all.Go(func() {
					if i%2 == 1 {
						synctest.Wait()
					}
					lease, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: maxWait})
					if err == nil {
						got++
						wantIs(t, lease.Release(t.Context()))
						return
					}
					missed++
					wantBusy(t, err)
				})
				all.Wait()
				synctest.Wait()
				mustBeFree(t, s, "k")
				if l.Keys() != 0 || l.Watched() != 0 || l.WaitingInAll() != 0 {
					t.Errorf("%d keys, %d holds, %d waiters are left", l.Keys(), l.Watched(), l.WaitingInAll())
				}
			})
		}
		t.Logf("elsewhere=%t: %d got it, %d did not", elsewhere, got, missed)
	}
}

// The first limit that is reached ends the wait.
func TestMaxWaitBesideOtherLimits(t *testing.T) {
	for name, c := range map[string]struct {
		opts        distlock.Opts
		ctx         time.Duration
		least, most time.Duration
		want        []error
	}{
		"one attempt":       {distlock.Opts{RetryCount: 1}, time.Hour, 0, 0, nil},
		"two attempts":      {distlock.Opts{RetryCount: 2}, time.Hour, 500 * time.Millisecond, time.Second, nil},
		"a hundred":         {distlock.Opts{RetryCount: 100}, time.Hour, maxWait, maxWait, nil},
		"long intervals":    {distlock.Opts{RetryInterval: time.Hour}, time.Hour, maxWait, maxWait, nil},
		"long, two":         {distlock.Opts{RetryInterval: time.Hour, RetryCount: 2}, time.Hour, maxWait, maxWait, nil},
		"an earlier ctx":    {distlock.Opts{}, 2 * time.Second, 2 * time.Second, 2 * time.Second, []error{context.DeadlineExceeded}},
		"the shortest wait": {distlock.Opts{MaxWait: time.Millisecond}, time.Hour, time.Millisecond, time.Millisecond, nil},
	} {
		for _, where := range []string{"gate", "line", "poll"} {
			t.Run(name+"/"+where, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := testkit.NewStore()
					var b driver.Backend = s
					if where == "poll" {
						b = s.Only(0)
					}
					l := testkit.NewLocker(t, b, distlock.Config{})
					if where == "gate" {
						held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
						defer held.Release(t.Context())
					} else {
						defer other(t, s, "k")()
					}
					if c.opts.MaxWait == 0 {
						c.opts.MaxWait = maxWait
					}
					ctx, cancel := context.WithTimeout(t.Context(), c.ctx)
					defer cancel()
					start := time.Now()
					_, err := l.Acquire(ctx, "k", c.opts)
					wantIs(t, err, append(c.want, distlock.ErrNotAcquired)...)
					if d := time.Since(start); d < c.least || d > c.most {
						t.Errorf("waited for %v, want %v to %v: %v", d, c.least, c.most, err)
					}
				})
			})
		}
	}
}

// Without a Queuer there is a last attempt when MaxWait is over.
func TestMaxWaitEndsWithAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		l := testkit.NewLocker(t, s.Only(0), distlock.Config{})
		release := other(t, s, "k")
		start := time.Now()
		time.AfterFunc(maxWait-1, release) // without a message
		lease, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: maxWait, RetryInterval: time.Minute})
		wantIs(t, err)
		if d := time.Since(start); d != maxWait || len(s.Calls(testkit.Try)) != 2 {
			t.Errorf("got it after %v and %d attempts", d, len(s.Calls(testkit.Try)))
		}
		wantIs(t, lease.Release(t.Context()))
	})
}

func TestMaxWaitEndsWithClose(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		defer other(t, s, "k")()
		got := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: time.Minute})
				got <- err
			}()
		}
		synctest.Wait()
		wantIs(t, l.Close())
		wantIs(t, <-got, distlock.ErrClosed)
		wantIs(t, <-got, distlock.ErrClosed)
	})
}

// One limit applies to all keys together, not one to each.
func TestMaxWaitOfASet(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		time.AfterFunc(2*time.Second, other(t, s, "a"))
		release := other(t, s, "b")
		d, err := waits(t, func(ctx context.Context) error {
			_, err := l.AcquireAll(ctx, []string{"a", "b"}, distlock.Opts{MaxWait: maxWait, MinHold: time.Hour})
			return err
		})
		wantBusy(t, err)
		if d != maxWait || keyOf(err) != "b" {
			t.Errorf("waited for %v: %v", d, err)
		}
		time.AfterFunc(2*time.Second, release)
		m, err := l.AcquireAll(t.Context(), []string{"a", "b"}, distlock.Opts{MaxWait: maxWait})
		wantIs(t, err)
		<-time.After(time.Minute)
		wantIs(t, m.Check())
		wantIs(t, m.Release(t.Context()))
	})
}

// MaxWait limits each campaign; there are as many campaigns as necessary.
func TestMaxWaitOfACampaign(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		release := other(t, s, "k")
		time.AfterFunc(time.Minute, release)
		done := errors.New("done")
		err := l.Lead(t.Context(), "k", distlock.Opts{MaxWait: maxWait}, func(ctx context.Context) error {
			<-time.After(10 * time.Second)
			if ctx.Err() != nil {
				t.Errorf("led for less than it wanted: %v", context.Cause(ctx))
			}
			return done
		})
		if err != done { //nolint:errorlint // the same value
			t.Errorf("%v", err)
		}
		campaigns := s.Calls(testkit.Wait)
		if n := len(campaigns); n < 14 || n > 18 {
			t.Errorf("%d campaigns in a minute, of 3 s each and pauses of 0.5 to 1 s", n)
		}
		for i := 1; i < len(campaigns); i++ {
			if d := campaigns[i].At.Sub(campaigns[i-1].At); d < maxWait+distlock.DefaultRetryInterval || d >= maxWait+2*distlock.DefaultRetryInterval {
				t.Errorf("campaign %d began %v after the one before", i, d)
			}
		}
	})
}

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
