package test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// siblings calls f in two goroutines of one holder, and returns how many were inside at once
// and their errors.
func siblings(ctx context.Context, f func(context.Context, func(context.Context) error) error) (most int, errs [2]error) {
	var mu sync.Mutex
	inside := 0
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() {
			errs[i] = f(ctx, func(context.Context) error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			})
		})
	}
	both.Wait()
	return most, errs
}

// Two goroutines below one holder are inside its key at once, whatever kind of lock it has;
// with ReentryOne the second one is refused at once, and may come in later.
func TestSiblings(t *testing.T) {
	for name, kind := range map[string]distlock.Opts{
		"exclusive": {}, "shared": {Mode: distlock.Shared}, "permits": {Permits: 2},
	} {
		for _, several := range []bool{false, true} {
			testkit.InBubble(t, name, func(t *testing.T) {
				var told []error
				l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{Hooks: distlock.Hooks{
					Event: testkit.On{
						distlock.Failed: func(_ context.Context, i distlock.Event) { told = append(told, i.Err) },
					}.Event,
				}})
				below := func(ctx context.Context) error {
					o := kind
					call := func(ctx context.Context, fn func(context.Context) error) error { return l.Do(ctx, "k", o, fn) }
					if most, errs := siblings(ctx, call); most != 2 || errs != [2]error{} {
						t.Errorf("without the option: %d inside, %v", most, errs)
					}
					o.Reentry = distlock.ReentryOne
					start := time.Now()
					most, errs := siblings(ctx, call)
					refused := errs[0]
					if refused == nil {
						refused = errs[1]
					}
					wantIs(t, refused, distlock.ErrNotAcquired)
					if most != 1 || errs[0] != nil && errs[1] != nil || len(told) != 1 || told[0] != refused || time.Since(start) != time.Second { //nolint:errorlint // the same
						t.Errorf("with it: %d inside, %v, told %v, after %v", most, errs, told, time.Since(start))
					}
					return call(ctx, func(context.Context) error { return nil })
				}
				if several {
					wantIs(t, l.DoAll(t.Context(), []string{"a", "k", "z"}, kind, below))
				} else {
					wantIs(t, l.Do(t.Context(), "k", kind, below))
				}
			})
		}
	}
}

// A readers' function below a writer is the same. A call inside the one that is inside is not
// a second one, also with another key between them, and one that is refused or panics
// leaves the way free.
func TestReentryOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := testkit.NewLocker(t, testkit.NewStore(), distlock.Config{})
		one := distlock.Opts{Reentry: distlock.ReentryOne, Mode: distlock.Shared}
		nothing := func(context.Context) error { return nil }
		wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
			wantIs(t, l.Do(ctx, "k", one, func(ctx context.Context) error {
				return l.Do(ctx, "other", one, func(ctx context.Context) error { return l.Do(ctx, "k", one, nothing) })
			}))
			first, err := l.Acquire(ctx, "k", one)
			wantIs(t, err)
			wantIs(t, l.Do(ctx, "k", one, nothing), distlock.ErrNotAcquired)
			wantIs(t, l.Do(ctx, "other", distlock.Opts{}, func(ctx context.Context) error { return l.Do(ctx, "k", one, nothing) }), distlock.ErrNotAcquired)
			wantIs(t, l.Do(ctx, "k", distlock.Opts{}, nothing)) // without the option
			wantIs(t, first.Release(ctx))
			func() {
				defer func() { _ = recover() }()
				_ = l.Do(ctx, "k", one, func(context.Context) error { panic("the function") })
			}()
			return l.Do(ctx, "k", one, nothing)
		}))
	})
}

// With ReentryNone a call below a holder of the key is refused at once, whatever the holder is
// and whatever is between them. It asks the store nothing, and leaves the holder and the way
// of other calls as they are.
func TestReentryNone(t *testing.T) {
	never := func(context.Context) error { panic("inside") }
	for name, outer := range map[string]distlock.Opts{
		"exclusive": {}, "shared": {Mode: distlock.Shared}, "permits": {Permits: 2}, "itself": {Reentry: distlock.ReentryNone}, "one": {Reentry: distlock.ReentryOne},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			none := outer
			none.Reentry = distlock.ReentryNone
			start := time.Now()
			wantIs(t, l.Do(t.Context(), "k", outer, func(ctx context.Context) error {
				wantIs(t, l.Do(ctx, "k", none, never), distlock.ErrReentry)
				wantIs(t, l.DoAll(ctx, []string{"j", "k"}, none, never), distlock.ErrReentry)
				wantIs(t, l.Do(ctx, "other", none, func(ctx context.Context) error { return l.Do(ctx, "k", none, never) }), distlock.ErrReentry)
				writer := distlock.Opts{Reentry: distlock.ReentryNone} // a re-entry would be an upgrade, for some
				wantIs(t, l.Do(ctx, "k", writer, never), distlock.ErrReentry)
				allowed := outer
				allowed.Reentry = distlock.ReentryAll
				return l.Do(ctx, "k", allowed, func(context.Context) error { return nil })
			}))
			wantTook(t, start, 0)
			wantCalls(t, s, testkit.Enqueue, 3) // k, other, and j, which was given back
			wantIs(t, l.Do(t.Context(), "k", none, func(context.Context) error { return nil }))
			nothingLeft(t, l, s)
		})
	}
}

// ReentryNone refuses only a caller whose context says that it holds the key: below a lease that
// is over it gets ErrLost, after Detach it waits.
func TestReentryNoneBelowNoHolder(t *testing.T) {
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		none := distlock.Opts{Reentry: distlock.ReentryNone, MaxWait: time.Second}
		outer := testkit.MustAcquire(t, l, "k", none)
		start := time.Now()
		wantIs(t, testkit.ErrorOf(l.Acquire(distlock.Detach(outer.Context()), "k", none)), distlock.ErrNotAcquired)
		wantTook(t, start, time.Second)
		wantIs(t, outer.Release(t.Context()))
		wantIs(t, testkit.ErrorOf(l.Acquire(context.WithoutCancel(outer.Context()), "k", none)), distlock.ErrLost)
		nothingLeft(t, l, s)
	})
}

func TestReentryOfModes(t *testing.T) {
	shared, exclusive := reading, writing
	three, five := distlock.Opts{Permits: 3}, distlock.Opts{Permits: 5}
	for name, c := range map[string]struct {
		outer, inner distlock.Opts
		upgrade      bool
	}{
		"exclusive in exclusive": {exclusive, exclusive, false},
		"shared in exclusive":    {exclusive, shared, false},
		"exclusive in shared":    {shared, exclusive, true},
		"permit in shared":       {shared, three, true},
		"one of more permits":    {three, five, false},
		"one of fewer permits":   {five, three, true},
	} {
		bubbleCase(t, name, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
			start := time.Now()
			outer := testkit.MustAcquire(t, l, "k", c.outer)
			inner, err := l.Acquire(outer.Context(), "k", c.inner)
			if c.upgrade {
				wantIs(t, err, distlock.ErrUpgrade)
			} else {
				wantIs(t, err)
				if inner.Token() != outer.Token() {
					t.Errorf("tokens %d and %d", outer.Token(), inner.Token())
				}
				// Below that, the mode that the store has granted counts.
				wantIs(t, testkit.ErrorOf(l.Acquire(inner.Context(), "k", c.outer)))
				wantIs(t, inner.Release(t.Context()))
			}
			wantTook(t, start, 0)
			wantCalls(t, s, testkit.Enqueue, 1)
			wantIs(t, outer.Check())
			wantIs(t, outer.Release(t.Context()))
			_, err = l.Acquire(context.WithoutCancel(outer.Context()), "k", c.inner)
			wantIs(t, err, distlock.ErrLost)
			nothingLeft(t, l, s)
		})
	}
}
