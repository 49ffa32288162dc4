package test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/driver"
	"github.com/distlock-go/distlock/internal/test/testkit"
)

// setTrip makes each request take as long as trip says, half of it on the way to the store.
func setTrip(s *testkit.Store, trip func() time.Duration) {
	half := func(context.Context, *testkit.Call) error { time.Sleep(trip() / 2); return nil }
	s.Before(half)
	s.After(half)
}

// crew is what the goroutines of one Locker get of a key that others want, too.
type crew struct {
	locks, waits float64 // of each goroutine, and the mean wait in holds
	longest      float64 // wait, in holds
}

// compete has Lockers compete for a key, with so many goroutines each that hold it again and
// again.
func compete(t *testing.T, backend func() driver.Backend, goroutines []int, hold time.Duration) (crews []crew) {
	t.Helper()
	var all sync.WaitGroup
	start, span := time.Now(), 3000*hold
	crews = make([]crew, len(goroutines))
	for i, n := range goroutines {
		l, c := testkit.NewLocker(t, backend(), distlock.Config{}), &crews[i]
		for range n {
			all.Go(func() {
				for asked := start; time.Since(start) < span; asked = time.Now() {
					wantIs(t, l.Do(t.Context(), "k", distlock.Opts{}, func(context.Context) error {
						wait := float64(time.Since(asked)) / float64(hold)
						c.locks++
						c.waits += wait
						c.longest = max(c.longest, wait)
						time.Sleep(hold)
						return nil
					}))
				}
			})
		}
	}
	all.Wait()
	for i, n := range goroutines {
		c := &crews[i]
		c.locks, c.waits = c.locks/float64(n), c.waits/c.locks
	}
	return crews
}

// A process hands a key that others wait for to the callers that came before them, and to no
// others. So each goroutine gets the same, in however many processes they are.
func TestHandOversAreFair(t *testing.T) {
	const hold = time.Millisecond
	for name, view := range map[string]func(s *testkit.Store) driver.Backend{
		"the store tells who waits": extending,
		"the store cannot be asked": func(s *testkit.Store) driver.Backend { return s },
	} {
		for _, goroutines := range [][]int{{2, 1}, {64, 1}, {4, 4, 4, 4}, {8, 4, 2, 1}} {
			for _, trip := range []time.Duration{hold / 10, hold / 2} {
				testkit.InBubble(t, fmt.Sprint(name, goroutines, trip), func(t *testing.T) {
					s := testkit.NewStore()
					setTrip(s, func() time.Duration { return trip/2 + rand.N(trip) })
					crews := compete(t, func() driver.Backend { return view(s) }, goroutines, hold)
					t.Logf("%.1f", crews)
					all := 0
					for _, n := range goroutines {
						all += n
					}
					for i, c := range crews {
						for _, other := range crews[i+1:] {
							if q := c.locks / other.locks; q > 1.5 || q < 1/1.5 {
								t.Errorf("unequal shares: %.1f", crews)
							}
							if q := c.waits / other.waits; q > 2 || q < 0.5 {
								t.Errorf("unequal waits: %.1f", crews)
							}
						}
						if most := 1.5 * float64(all); c.longest > most+4*float64(len(crews)) {
							t.Errorf("waited for %.0f holds, among %d goroutines", c.longest, all)
						}
					}
				})
			}
		}
	}
}

// While no other process waits the key does not stand still, although the store gives few
// tokens at a time and the answers take long. With one token at a time, each hand-over takes
// one round trip, not two.
func TestKeyDoesNotStandStill(t *testing.T) {
	const trip, holders = time.Millisecond, 1000
	for name, c := range map[string]struct {
		tokens int // 0: as many as requested
		hold   time.Duration
		still  time.Duration // for each holder
	}{
		"as many tokens as requested":   {0, 10 * time.Microsecond, 0},
		"20 tokens":                     {20, 70 * time.Microsecond, 0},
		"20 tokens, short holds":        {20, 10 * time.Microsecond, (trip - 17*10*time.Microsecond) / 20},
		"one token":                     {1, 10 * time.Microsecond, trip},
		"one token, long holds":         {1, time.Second, 0},
		"as many as requested, as long": {0, time.Second, 0},
	} {
		testkit.InBubble(t, name, func(t *testing.T) {
			s := testkit.NewStore()
			if c.tokens > 0 {
				s.LimitTokens(c.tokens)
			}
			setTrip(s, func() time.Duration { return trip })
			l := distlock.New(extending(s), distlock.Config{HandOverTime: 10 * time.Hour})
			held := testkit.MustAcquire(t, l, "k", distlock.Opts{})
			var all sync.WaitGroup
			line(t, &all, l, holders, distlock.Opts{}, func(context.Context, int) { time.Sleep(c.hold) })
			start := time.Now()
			wantIs(t, held.Release(t.Context()))
			all.Wait()
			if still := (time.Since(start) - trip - holders*c.hold) / holders; still > c.still+time.Microsecond {
				t.Errorf("the key stands still for %v for each holder, want %v", still, c.still)
			}
			if n := len(s.Calls(testkit.Enqueue)); n != 1 {
				t.Errorf("%d acquisitions in the store, want 1", n)
			}
			wantIs(t, l.Close())
			nothingLeft(t, l, s)
		})
	}
}
