package test

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
	"github.com/distlock-go/distlock/internal/test/testkit"
)

const maxWait = 3 * time.Second

// places are those at which a caller waits: in the process, in the store's queue, or
// between attempts.
var places = []string{"gate", "queue", "poll"}

// waitAt runs f in virtual time with a Locker whose callers wait for the key "k" at a place
// until it is released.
func waitAt(t *testing.T, place string, f func(t *testing.T, l *distlock.Locker, s *testkit.Store, release func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		abilities := testkit.Queuing
		if place == "poll" {
			abilities = 0
		}
		l := testkit.NewLocker(t, s.Only(abilities), distlock.Config{})
		release := other(t, s, "k")
		if place == "gate" {
			release()
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			release = func() { wantIs(t, held.Release(context.Background())) }
		}
		f(t, l, s, release)
		synctest.Wait()
		mustBeFree(t, s, "a", "z")
		nothingLeft(t, l, s)
	})
}

// wantBusy checks the error of a wait that MaxWait ended because another holder has the key.
func wantBusy(t *testing.T, err error) {
	t.Helper()
	wantIs(t, err, distlock.ErrNotAcquired)
	if held := heldBy(t, err); !strings.HasSuffix(err.Error(), ": waited for MaxWait, 3s") || keyOf(err) != "k" {
		t.Errorf("%v: %+v", err, held)
	}
}

// It ends the wait in every way to take a lock.
func TestMaxWait(t *testing.T) {
	for _, place := range places {
		for name, take := range ways {
			t.Run(name+"/"+place, func(t *testing.T) {
				waitAt(t, place, func(t *testing.T, l *distlock.Locker, _ *testkit.Store, release func()) {
					start := time.Now()
					err := take(t.Context(), l, distlock.Opts{MaxWait: maxWait}, ran)
					wantBusy(t, err)
					wantTook(t, start, maxWait)
					if left := heldBy(t, err).RetryAfter; place != "gate" && left != time.Hour-maxWait {
						t.Errorf("the holder has %v left: %v", left, err)
					}
					synctest.Wait() // it leaves the queue
					release()
				})
			})
		}
	}
}

// The function is not limited, and has no deadline. Without a Queuer there is a last attempt
// when MaxWait is over.
func TestMaxWaitIsNotForTheFunction(t *testing.T) {
	const work = 10 * time.Second
	for name, waited := range map[string]time.Duration{"free": 0, "after a wait": 2 * time.Second, "at the limit": maxWait - 1} {
		for _, place := range places {
			t.Run(name+"/"+place, func(t *testing.T) {
				waitAt(t, place, func(t *testing.T, l *distlock.Locker, _ *testkit.Store, release func()) {
					want := waited
					if waited == 0 {
						release()
					} else {
						time.AfterFunc(waited, release)
						if place == "poll" {
							want = maxWait
						}
					}
					start := time.Now()
					wantIs(t, l.Do(t.Context(), "k", distlock.Opts{MaxWait: maxWait, RetryInterval: time.Hour}, func(ctx context.Context) error {
						wantTook(t, start, want)
						if end, ok := ctx.Deadline(); ok {
							t.Errorf("the function has a deadline: %v", time.Until(end))
						}
						time.Sleep(work)
						return ctx.Err()
					}))
				})
			})
		}
	}
}

// A lock that becomes free exactly at the limit is either acquired or left free, and
// never remains held without a holder.
func TestMaxWaitEndsAsTheLockComesFree(t *testing.T) {
	for _, place := range places {
		got := 0
		for i := range 100 {
			waitAt(t, place, func(t *testing.T, l *distlock.Locker, _ *testkit.Store, release func()) {
				var all sync.WaitGroup
				set := func(first bool, f func()) { // which of the two timers is set first
					all.Go(func() {
						if !first {
							synctest.Wait()
						}
						f()
					})
				}
				set(i%2 == 1, func() { <-time.After(maxWait); release() })
				set(i%2 == 0, func() {
					lease, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: maxWait})
					if err != nil {
						wantBusy(t, err)
						return
					}
					got++
					wantIs(t, lease.Release(t.Context()))
				})
				all.Wait()
			})
		}
		t.Logf("%s: %d of 100 got it", place, got)
	}
}

// The first limit that is reached ends the wait: MaxWait, as many attempts as RetryCount says with
// the pauses between them, or the context, whose cause is in the error.
func TestFirstLimitEndsTheWait(t *testing.T) {
	bored := errors.New("bored")
	const interval, earlier = 300 * time.Millisecond, 2 * time.Second
	for name, c := range map[string]struct {
		opts        distlock.Opts
		least, most time.Duration
	}{
		"one attempt":       {distlock.Opts{MaxWait: maxWait, RetryCount: 1}, 0, 0},
		"two attempts":      {distlock.Opts{MaxWait: maxWait, RetryCount: 2}, 500 * time.Millisecond, time.Second},
		"a hundred":         {distlock.Opts{MaxWait: maxWait, RetryCount: 100}, maxWait, maxWait},
		"long intervals":    {distlock.Opts{MaxWait: maxWait, RetryInterval: time.Hour}, maxWait, maxWait},
		"long, two":         {distlock.Opts{MaxWait: maxWait, RetryInterval: time.Hour, RetryCount: 2}, maxWait, maxWait},
		"the shortest wait": {distlock.Opts{MaxWait: time.Millisecond}, time.Millisecond, time.Millisecond},
		"an earlier ctx":    {distlock.Opts{MaxWait: maxWait}, earlier, earlier},
		"ctx alone":         {distlock.Opts{}, earlier, earlier},
		"attempts alone":    {distlock.Opts{RetryCount: 10, RetryInterval: interval}, 9 * interval, 2 * 9 * interval},
	} {
		for _, place := range places {
			t.Run(name+"/"+place, func(t *testing.T) {
				waitAt(t, place, func(t *testing.T, l *distlock.Locker, s *testkit.Store, release func()) {
					ctx, want := t.Context(), []error{distlock.ErrNotAcquired}
					byContext := c.least == earlier
					if byContext {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeoutCause(ctx, earlier, bored)
						defer cancel()
						want = append(want, context.DeadlineExceeded)
					}
					start, before := time.Now(), len(s.Calls(testkit.Try))
					_, err := l.Acquire(ctx, "k", c.opts)
					wantIs(t, err, want...)
					if d := time.Since(start); d < c.least || d > c.most || errors.Is(err, bored) != byContext {
						t.Errorf("waited for %v, want %v to %v: %v", d, c.least, c.most, err)
					}
					if name == "attempts alone" && place == "poll" {
						wantCalls(t, s, testkit.Try, before+c.opts.RetryCount)
					}
					synctest.Wait()
					release()
				})
			})
		}
	}
}

// One limit applies to all keys together, not one to each.
func TestMaxWaitOfASet(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		time.AfterFunc(2*time.Second, other(t, s, "a"))
		release := other(t, s, "k")
		start := time.Now()
		_, err := testkit.AcquireAll(t.Context(), l, []string{"a", "k"}, distlock.Opts{MaxWait: maxWait, MinHold: time.Hour})
		wantBusy(t, err)
		wantTook(t, start, maxWait)
		time.AfterFunc(2*time.Second, release)
		m, err := testkit.AcquireAll(t.Context(), l, []string{"a", "k"}, distlock.Opts{MaxWait: maxWait})
		wantIs(t, err)
		time.Sleep(time.Minute)
		wantIs(t, m.Context.Err())
		wantIs(t, m.Release())
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
	for name, take := range ways {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			s.Fail(fmt.Errorf("%w: %w", testkit.ErrBroken, context.Canceled), testkit.Try, testkit.Enqueue)
			start := time.Now()
			var all sync.WaitGroup
			for range 2 { // one asks the store, the other waits for it
				all.Go(func() {
					err := take(t.Context(), l, distlock.Opts{MaxWait: maxWait}, ran)
					wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable, testkit.ErrBroken)
					const text = "waited for MaxWait, 3s: lock backend unavailable: broken pipe"
					if d := time.Since(start); d != maxWait || err == nil || !strings.Contains(err.Error(), text) {
						t.Errorf("waited for %v: %v", d, err)
					}
				})
			}
			all.Wait()
			s.Fail(nil)
			time.Sleep(time.Minute)
			mustBeFree(t, s, "a", "k", "z")
		})
	}
}

// The wait for a store that does not answer, with several time limits of its own.
func TestMaxWaitInSilence(t *testing.T) {
	const most = maxWait + 500*time.Millisecond
	for limit, want := range map[time.Duration]time.Duration{ // of one operation
		0:                              most,
		4 * time.Second:                most,
		maxWait + 100*time.Millisecond: maxWait + 100*time.Millisecond,
		maxWait:                        maxWait,
		2400 * time.Millisecond:        most, // another one is in progress
	} {
		for name, take := range ways {
			for how, abilities := range map[string]testkit.Ability{"queue": testkit.Queuing, "poll": 0} {
				testkit.InBubble(t, fmt.Sprintf("%s/%s/limit=%v", name, how, limit), func(t *testing.T) {
					l := testkit.NewLocker(t, silent(limit, nil).Only(abilities), distlock.Config{})
					start := time.Now()
					err := take(t.Context(), l, distlock.Opts{MaxWait: maxWait, RetryInterval: 100 * time.Millisecond}, ran)
					wantTook(t, start, want)
					if 0 < limit && limit < most {
						wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable, testkit.ErrBroken)
						return
					}
					wantIs(t, err, distlock.ErrNotAcquired, distlock.ErrUnavailable)
					if !strings.HasSuffix(err.Error(), "waited for MaxWait, 3s: lock backend unavailable: no answer") {
						t.Errorf("%v", err)
					}
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
		"lock not acquired: held by another kind of lock: context deadline exceeded: " + since: {distlock.ErrForeign, []error{distlock.ErrForeign, distlock.ErrNotAcquired}},
		"lock not acquired: " + since: {distlock.ErrNotAcquired, []error{distlock.ErrNotAcquired}},
		"lock not acquired: " + since + ": lock backend unavailable: dial redis-1: context deadline exceeded": {
			errors.New("dial redis-1"), []error{distlock.ErrNotAcquired, distlock.ErrUnavailable},
		},
	} {
		for _, abilities := range []testkit.Ability{0, testkit.Queuing} {
			synctest.Test(t, func(t *testing.T) {
				l := testkit.NewLocker(t, silent(0, c.says).Only(abilities), distlock.Config{})
				_, err := l.Acquire(t.Context(), "k", distlock.Opts{MaxWait: maxWait})
				wantIs(t, err, c.want...)
				wantLine(t, err, `distlock: acquire "k": `+text)
			})
		}
	}
}
