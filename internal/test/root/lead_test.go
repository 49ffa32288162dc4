package test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// stay leads until ctx ends.
func stay(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// resigned records the ends of terms.
type resigned struct {
	mu    sync.Mutex
	terms []distlock.Event
}

func (r *resigned) hook(_ context.Context, i distlock.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i.Leader {
		r.terms = append(r.terms, i)
	}
}

// candidate runs f in a bubble with a Locker that records its resignations.
func candidate(t *testing.T, f func(t *testing.T, l *distlock.Locker, s *testkit.Store, r *resigned)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, r := testkit.NewStore(), &resigned{}
		l := testkit.NewLocker(t, s, distlock.Config{Hooks: distlock.Hooks{Event: testkit.On{distlock.Released: r.hook}.Event}})
		f(t, l, s, r)
	})
}

// A leader that resigns campaigns again, but not before every other candidate had a
// chance, also if the store has no queue.
func TestLeadTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := testkit.NewStore()
		ctx, cancel := context.WithCancel(t.Context())
		var leaders []int // protected by the lock
		var all sync.WaitGroup
		for i := range 2 {
			l := distlock.New(s.Only(0), distlock.Config{})
			t.Cleanup(func() { wantIs(t, l.Close()) })
			all.Go(func() {
				err := l.Lead(ctx, "k", distlock.Opts{}, func(context.Context) error {
					leaders = append(leaders, i)
					time.Sleep(time.Second)
					return nil
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		time.Sleep(5 * time.Minute)
		cancel()
		all.Wait()
		if len(leaders) < 100 {
			t.Errorf("only %d terms", len(leaders))
		}
		for i := 1; i < len(leaders); i++ {
			if leaders[i] == leaders[i-1] {
				t.Errorf("terms %d and %d of %d have the same leader", i-1, i, len(leaders))
			}
		}
	})
}

func TestLeadGoesOnAfterALoss(t *testing.T) {
	for name, fn := range map[string]func(ctx context.Context, l *distlock.Locker) error{
		"ctx.Err": func(ctx context.Context, _ *distlock.Locker) error { return fmt.Errorf("tick: %w", ctx.Err()) },
		"cause":   func(ctx context.Context, _ *distlock.Locker) error { return context.Cause(ctx) },
		"nothing": func(context.Context, *distlock.Locker) error { return nil },
		"another lock": func(ctx context.Context, l *distlock.Locker) error {
			_, err := l.Acquire(ctx, "x", distlock.Opts{})
			return err
		},
		"the same lock": func(ctx context.Context, l *distlock.Locker) error {
			_, err := l.Acquire(ctx, "k", distlock.Opts{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			candidate(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store, r *resigned) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				terms := 0
				err := l.Lead(ctx, "k", distlock.Opts{Prefix: "p:"}, func(ctx context.Context) error {
					if terms++; terms == 3 {
						cancel()
						return stay(ctx)
					}
					s.Memory().Drop("p:k")
					<-ctx.Done()
					wantIs(t, context.Cause(ctx), distlock.ErrLost)
					return fn(ctx, l)
				})
				wantIs(t, err, context.Canceled)
				if terms != 3 || len(r.terms) != 3 {
					t.Fatalf("%d terms, the hook was told of %d", terms, len(r.terms))
				}
				for i, term := range r.terms[:2] {
					if !errors.Is(term.Err, distlock.ErrLost) || term.Key != "p:k" || term.Name != "p:" || term.Held == 0 || term.Token >= r.terms[i+1].Token {
						t.Errorf("the hook was told of %+v", term)
					}
				}
			})
		})
	}
}

func TestLeadReturnsTheFunctionsError(t *testing.T) {
	mine := errors.New("mine")
	for name, c := range map[string]struct {
		fn   func(ctx context.Context, l *distlock.Locker, s *testkit.Store) error
		want []error // after mine; none: mine itself
	}{
		"mine": {func(context.Context, *distlock.Locker, *testkit.Store) error { return mine }, nil},
		"mine, after a loss": {func(ctx context.Context, _ *distlock.Locker, s *testkit.Store) error {
			s.Memory().Drop("k")
			<-ctx.Done()
			return mine
		}, []error{distlock.ErrLost}},
		"mine, not given back": {func(_ context.Context, _ *distlock.Locker, s *testkit.Store) error {
			s.LoseReplies(testkit.Release, 1)
			return mine
		}, nil},
		"busy": {func(_ context.Context, l *distlock.Locker, s *testkit.Store) error {
			s.Steal(t, "x")
			_, err := l.TryAcquire(context.Background(), "x", distlock.Opts{})
			return errors.Join(mine, err)
		}, []error{distlock.ErrNotAcquired}},
		"another lock lost": {func(ctx context.Context, l *distlock.Locker, s *testkit.Store) error {
			return l.Do(ctx, "x", distlock.Opts{}, func(ctx context.Context) error { s.Memory().Drop("x"); <-ctx.Done(); return mine })
		}, []error{distlock.ErrLost}},
		"cancelled by itself": {func(context.Context, *distlock.Locker, *testkit.Store) error {
			return errors.Join(mine, context.Canceled)
		}, []error{context.Canceled}},
	} {
		t.Run(name, func(t *testing.T) {
			candidate(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store, r *resigned) {
				terms := 0
				err := l.Lead(t.Context(), "k", distlock.Opts{}, func(ctx context.Context) error {
					if terms++; terms > 1 {
						panic("led again")
					}
					return c.fn(ctx, l, s)
				})
				if c.want == nil && err != mine || !errors.Is(err, mine) { //nolint:errorlint // the same value
					t.Errorf("got %v", err)
				}
				if c.want != nil {
					wantIs(t, err, c.want...)
				}
				if len(r.terms) != 1 {
					t.Errorf("the hook was told of %+v", r.terms)
				}
				synctest.Wait()
				mustBeFree(t, s, "k")
			})
		})
	}
}

// Lead returns with the right error whatever it is doing when ctx ends or the Locker is
// closed.
func TestLeadEnds(t *testing.T) {
	why := errors.New("shutdown")
	mine := errors.New("mine")
	leads := func(returns error) func(context.Context) error {
		return func(ctx context.Context) error { <-ctx.Done(); return returns }
	}
	quick := func(context.Context) error { return nil } // so it pauses
	for name, c := range map[string]struct {
		busy   bool // another process has the key
		down   bool // the store fails
		opts   distlock.Opts
		fn     func(context.Context) error
		also   []error // in addition to the cause
		closed []error // in addition to ErrClosed
	}{
		"while it campaigns":      {busy: true, also: []error{distlock.ErrNotAcquired}},
		"while the store is down": {down: true, also: []error{distlock.ErrNotAcquired, distlock.ErrUnavailable, testkit.ErrBroken}},
		"between campaigns":       {busy: true, opts: distlock.Opts{RetryCount: 1, RetryInterval: time.Minute}, also: []error{distlock.ErrNotAcquired}, closed: []error{distlock.ErrNotAcquired}},
		"while it leads":          {fn: stay},
		"while it leads, nil":     {fn: leads(nil)},
		"while it leads, mine":    {fn: leads(mine), also: []error{mine}, closed: []error{mine, distlock.ErrLost}},
		"while it pauses":         {fn: quick, opts: distlock.Opts{RetryInterval: time.Minute}},
	} {
		for _, closes := range []bool{false, true} {
			bubbleCase(t, fmt.Sprint(name, ", closed ", closes), func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
				if c.busy {
					s.Steal(t, "k")
				}
				if c.down {
					s.Fail(testkit.ErrBroken, testkit.Try, testkit.Enqueue)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				got := make(chan error, 1)
				fn := c.fn
				if fn == nil {
					fn = func(context.Context) error { panic("led") }
				}
				go func() { got <- l.Lead(ctx, "k", c.opts, fn) }()
				time.Sleep(10 * time.Second)
				ended := time.Now()
				want := append([]error{context.Canceled, why}, c.also...)
				if closes {
					want = append([]error{distlock.ErrClosed}, c.closed...)
					wantIs(t, l.Close())
				} else {
					cancel(why)
				}
				err := <-got
				wantTook(t, ended, 0)
				wantIs(t, err, want...)
				if e, ok := errors.AsType[*distlock.Error](err); !ok || e.Key != "k" {
					t.Errorf("got %#v", err)
				}
				wantIs(t, l.Close())
			})
		}
	}
}

// RetryCount and MaxWait apply to each campaign: with 1 a candidate does not queue. Neither
// a full queue nor a failing backend ends its candidacy: the backend is asked repeatedly but
// not in a loop, and the candidate is elected soon after.
func TestLeadCampaignsAgain(t *testing.T) {
	const outage = 10 * time.Minute
	for name, c := range map[string]struct {
		opts distlock.Opts
		full bool // another waits, and there is room for one
		down bool // the store fails; otherwise another holder has the key
	}{
		"busy, one attempt": {opts: distlock.Opts{RetryCount: 1}},
		"busy, a full line": {full: true},
		"busy, MaxWait":     {opts: distlock.Opts{MaxWait: 3 * time.Second}},
		"down":              {down: true},
		"down, one attempt": {opts: distlock.Opts{RetryCount: 1}, down: true},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			l := testkit.NewLocker(t, s, distlock.Config{MaxWaiters: 1})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if c.down {
				s.Fail(testkit.ErrBroken, testkit.Try, testkit.Enqueue, testkit.Release)
				time.AfterFunc(outage, func() { s.Fail(nil) })
			} else {
				held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
				time.AfterFunc(outage, func() { _ = held.Release(context.Background()) })
			}
			if c.full {
				go func() { _, _ = l.Acquire(ctx, "k", distlock.Opts{}) }()
				synctest.Wait()
			}
			elected := errors.New("elected")
			start := time.Now()
			err := l.Lead(t.Context(), "k", c.opts, func(context.Context) error { return elected })
			if err != elected { //nolint:errorlint // the same value
				t.Errorf("got %v", err)
			}
			if d := time.Since(start); d < outage || d > outage+4*time.Second {
				t.Errorf("elected after %v", d)
			}
			n := len(s.Calls(testkit.Enqueue)) + len(s.Calls(testkit.Try))
			if most := int(outage/distlock.DefaultRetryInterval) + 2; c.down && (n > most || n < most/2) {
				t.Errorf("%d attempts meanwhile, want %d to %d", n, most/2, most)
			}
			if !c.down && c.opts.RetryCount == 1 {
				wantCalls(t, s, testkit.Enqueue, 1) // only the holder's
			}
		})
	}
}

func TestLeadRefusesWhatCannotBeMended(t *testing.T) {
	never := func(context.Context) error { panic("led") }
	bubble(t, func(t *testing.T, l *distlock.Locker, s *testkit.Store) {
		unfenced := testkit.NewStore()
		unfenced.LimitTokens(0)
		bare := testkit.NewLocker(t, unfenced, distlock.Config{})
		wantIs(t, bare.Lead(t.Context(), "k", distlock.Opts{Fencing: true}, never), distlock.ErrNoFencing)
		wantIs(t, l.Lead(t.Context(), "a b", distlock.Opts{}, never), distlock.ErrKey)
		for want, err := range map[string]error{
			`distlock: options "p:k": fn is nil`:                     l.Lead(t.Context(), "k", distlock.Opts{Prefix: "p:"}, nil),
			`distlock: options "k": RetryInterval is negative: -1ns`: l.Lead(t.Context(), "k", distlock.Opts{RetryInterval: -1}, never),
		} {
			wantLine(t, err, want)
		}
		held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
		wantIs(t, held.Release(t.Context()))
		wantIs(t, l.Lead(context.WithoutCancel(held.Context()), "k", distlock.Opts{}, never), distlock.ErrLost)
		wantIs(t, l.Do(t.Context(), "k", reading, func(ctx context.Context) error { return l.Lead(ctx, "k", writing, never) }), distlock.ErrUpgrade)
		once := distlock.Opts{Reentry: distlock.ReentryNone}
		wantIs(t, l.Do(t.Context(), "k", once, func(ctx context.Context) error { return l.Lead(ctx, "k", once, never) }), distlock.ErrReentry)
		s.Fail(errors.ErrUnsupported, testkit.Enqueue)
		time.AfterFunc(time.Minute, func() { _ = l.Close() }) // or it would campaign for ever
		wantIs(t, l.Lead(t.Context(), "k", distlock.Opts{}, never), distlock.ErrUnavailable)
	})
}
