package lockmetrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/memlock"
	"github.com/distlock-go/distlock/internal/lockmetrics"
)

// counts are Metrics whose histograms only count.
type counts struct {
	*lockmetrics.Metrics
	mu    sync.Mutex
	times map[string]int64 // by series and what was measured
}

func newCounts() *counts {
	c := &counts{times: map[string]int64{}}
	c.Metrics = lockmetrics.New(c.histogram("waited"), c.histogram("held for"))
	return c
}

func (c *counts) histogram(what string) lockmetrics.Histogram {
	return func(name, mode, outcome string) lockmetrics.Observe {
		return func(context.Context, float64) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.times[fmt.Sprintf("%s %s %s %s", name, mode, what, outcome)]++
		}
	}
}

// all returns everything by series and what was measured.
func (c *counts) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := maps.Clone(c.times)
	for s := range c.Series() {
		of := s.Name + " " + s.Mode
		all[of+" waiting"], all[of+" held"], all[of+" losses"] = s.Waiting.Load(), s.Held.Load(), s.Losses.Load()
		all[of+" renewed"], all[of+" failed"] = s.Renewed.Load(), s.Failed.Load()
	}
	return all
}

// want checks everything that is not 0.
func (c *counts) want(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for what, n := range c.all() {
		if n != 0 {
			got = append(got, fmt.Sprintf("%s: %d", what, n))
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Lost and Renewed run on goroutines of their own: they may come before Acquired, and
// before or after Released. A lease is lost once, whatever the order.
func TestLostInAnyOrder(t *testing.T) {
	tell := func(kind distlock.Kind, err error) func(context.Context, distlock.Hooks) {
		return func(ctx context.Context, h distlock.Hooks) {
			h.Event(ctx, distlock.Event{Kind: kind, Name: "a", Err: err})
		}
	}
	lost, acquired, renewed := tell(distlock.Lost, distlock.ErrLost), tell(distlock.Acquired, nil), tell(distlock.Renewed, nil)
	released := tell(distlock.Released, fmt.Errorf("release: %w", distlock.ErrLost))
	for name, order := range map[string][]func(context.Context, distlock.Hooks){
		"lost, released":          {renewed, acquired, lost, released},
		"released, lost":          {acquired, released, lost, renewed},
		"lost before Acquired":    {lost, renewed, acquired, released},
		"never released":          {acquired, renewed, lost},
		"never released, at once": {renewed, lost, acquired},
		"lost is not told":        {acquired, renewed, released},
		"lost while both are told": {renewed, acquired, func(ctx context.Context, h distlock.Hooks) {
			var both sync.WaitGroup
			both.Go(func() { lost(ctx, h) })
			both.Go(func() { released(ctx, h) })
			both.Wait()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCounts()
			h := c.Hooks()
			ctx := h.Start(t.Context(), distlock.Event{Name: "a"})
			c.want(t, "a exclusive waiting: 1")
			for _, call := range order {
				call(ctx, h)
			}
			c.want(t, "a exclusive held for lost: 1", "a exclusive losses: 1", "a exclusive renewed: 1", "a exclusive waited acquired: 1")
		})
	}
}

// Two sets of hooks do not disturb each other, one inside the other.
func TestTwoCollectors(t *testing.T) {
	outer, inner := newCounts(), newCounts()
	synctest.Test(t, func(t *testing.T) {
		l := distlock.New(memlock.New(), distlock.Config{Hooks: distlock.JoinHooks(outer.Hooks(), inner.Hooks())})
		other := distlock.New(memlock.New(), distlock.Config{Hooks: inner.Hooks()})
		if err := l.Do(t.Context(), "k", distlock.Opts{Value: "a"}, func(ctx context.Context) error {
			return other.Do(ctx, "k", distlock.Opts{Value: "b"}, func(context.Context) error { return nil })
		}); err != nil {
			t.Error(err)
		}
		_ = l.Close()
		_ = other.Close()
	})
	outer.want(t, "a exclusive held for released: 1", "a exclusive waited acquired: 1")
	inner.want(t, "a exclusive held for released: 1", "a exclusive waited acquired: 1",
		"b exclusive held for released: 1", "b exclusive waited acquired: 1")
}

// Names without a bound end in one series, and a name that is not UTF-8 is made so.
func TestMaxSeries(t *testing.T) {
	c := newCounts()
	h := c.Hooks()
	start := func(name string) context.Context {
		return h.Start(t.Context(), distlock.Event{Name: name})
	}
	start("\xff")
	start("\xfe") // has the same label
	var all []context.Context
	for i := range 1010 {
		all = append(all, start(fmt.Sprint(i)))
	}
	names := map[string]bool{}
	for series := range c.Series() {
		if names[series.Name] {
			t.Errorf("two series are named %q", series.Name)
		}
		names[series.Name] = true
	}
	if n := c.all()["other exclusive waiting"]; len(names) != 1001 || !names["\uFFFD"] || n != 11 {
		t.Errorf("%d series, %d others", len(names), n)
	}
	for _, ctx := range all {
		h.Event(ctx, distlock.Event{Kind: distlock.Failed, Err: distlock.ErrClosed})
	}
	if n := c.all()["other exclusive waited closed"]; n != 11 {
		t.Errorf("%d others", n)
	}
	for what, n := range c.all() {
		if strings.HasSuffix(what, " waiting") && n != 0 && what != "\uFFFD exclusive waiting" {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// Whatever happens to locks, and though other hooks panic and exit, in the end nothing
// waits and nothing is held, and each acquisition and hold has one outcome.
func TestNothingDrifts(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 16))
			var mu sync.Mutex
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return r.IntN(n) }
			begun := 0
			fault := func() {
				switch draw(20) {
				case 0:
					panic("a hook")
				case 1:
					runtime.Goexit()
				}
			}
			faulty := distlock.Hooks{
				Start: func(ctx context.Context, _ distlock.Event) context.Context { fault(); return ctx },
				Event: func(_ context.Context, e distlock.Event) {
					switch e.Kind { // the others come on goroutines of their own
					case distlock.Acquired, distlock.Failed, distlock.Released:
						fault()
					}
				},
			}
			counting := distlock.Hooks{Start: func(ctx context.Context, _ distlock.Event) context.Context {
				mu.Lock()
				defer mu.Unlock()
				begun++
				return ctx
			}}
			c := newCounts()
			store := memlock.New()
			l := distlock.New(store, distlock.Config{Hooks: distlock.JoinHooks(faulty, counting, c.Hooks(), faulty)})
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					for range 20 {
						done := make(chan struct{})
						go func() {
							defer close(done)
							defer func() { _ = recover() }()
							act(t.Context(), l, store, draw)
						}()
						<-done
					}
				})
			}
			all.Wait()
			time.Sleep(time.Minute) // leases that were forgotten are lost
			_ = l.Close()
			synctest.Wait()

			var waited, got, held int64
			for what, n := range c.all() {
				switch {
				case (strings.HasSuffix(what, " waiting") || strings.HasSuffix(what, " held")) && n != 0:
					t.Errorf("seed %d: %s: %d", seed, what, n)
				case strings.Contains(what, " waited "):
					waited += n
					if strings.HasSuffix(what, " acquired") || strings.HasSuffix(what, " handed_over") {
						got += n
					}
				case strings.Contains(what, " held for "):
					held += n
				}
			}
			if waited != int64(begun) || got != held || got == 0 {
				t.Errorf("seed %d: %d began, %d ended; %d locks, %d holds", seed, begun, waited, got, held)
			}
		})
	}
}

// act does one of the things that can be done to locks.
func act(ctx context.Context, l *distlock.Locker, store *memlock.Backend, draw func(int) int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o := distlock.Opts{Value: "a", MaxHold: 500 * time.Millisecond}
	switch draw(3) {
	case 0:
		o.Mode = distlock.Shared
	case 1:
		o.Permits = 2
	}
	work := func(ctx context.Context) error {
		if draw(3) == 0 {
			_ = l.Do(ctx, "k", o, func(context.Context) error { return nil })
		}
		if draw(10) == 0 {
			store.Drop("k")
		}
		time.Sleep(10 * time.Millisecond)
		if draw(10) == 0 {
			time.Sleep(time.Second)
		}
		return errors.New("done")
	}
	switch draw(10) {
	case 0, 1:
		_ = l.DoAll(ctx, []string{"k", "l", "m"}, o, work)
	case 2:
		_ = l.Lead(ctx, "k", o, work)
	case 3:
		_, _ = l.TryAcquire(ctx, "forgotten", o)
	default:
		_ = l.Do(ctx, "k", o, work)
	}
}
