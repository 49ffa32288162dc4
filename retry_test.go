package distlock

import (
	"testing"
	"testing/synctest"
	"time"
)

func newBudget(interval time.Duration, attempts int) *budget {
	b := new(budget)
	b.start(interval, attempts, 0)
	return b
}

func TestBudgetSpreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := map[time.Duration]bool{}
		for range 100 {
			d, _ := newBudget(time.Second, 2).wait()
			waits[d] = true
		}
		if len(waits) < 90 {
			t.Errorf("only %d different waits of 100", len(waits))
		}
	})
}

// Slow attempts do not stretch the budget, and the last one is made all the
// same.
func TestBudgetSlowAttempts(t *testing.T) {
	const interval = 500 * time.Millisecond
	for _, slow := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			for attempts := 2; attempts < 20; attempts++ {
				b := newBudget(interval, attempts)
				start, made := time.Now(), 0
				for {
					began := time.Since(start)
					time.Sleep(slow)
					made++
					d, ok := b.wait()
					if !ok {
						if most := 2 * interval * time.Duration(attempts-1); slow < time.Minute && began > most+slow {
							t.Errorf("attempts of %v: the last of %d began after %v, the budget ends before %v", slow, attempts, began, most)
						}
						break
					}
					time.Sleep(d)
				}
				if made < 2 || made > attempts {
					t.Errorf("attempts of %v: %d were made, want from 2 to %d", slow, made, attempts)
				}
			}
		})
	}
}

// Without a limit every failure is followed by a pause, however slow it was.
func TestBudgetWithoutLimitPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(time.Second, 0)
		b.wait()
		for range 10 {
			time.Sleep(time.Minute)
			if d, ok := b.wait(); !ok || d < time.Second {
				t.Errorf("Wait = %v, %v after a slow attempt", d, ok)
			}
		}
	})
}

// Intervals follow each other, however slow the attempts: an attempt that runs past the
// end of its interval shortens the next interval.
func TestBudgetIntervalsFollowEachOther(t *testing.T) {
	const interval = time.Second
	synctest.Test(t, func(t *testing.T) {
		short := 0
		for range 200 {
			b := newBudget(interval, 100)
			d, _ := b.wait()
			end := time.Now().Add(d)
			time.Sleep(d + interval/2)
			d, _ = b.wait()
			if next := time.Now().Add(d).Sub(end); next < interval || next >= 2*interval {
				t.Fatalf("an interval of %v after an attempt of half of one", next)
			}
			time.Sleep(d + 5*interval) // runs over several
			if d, _ = b.wait(); d < interval {
				short++
			}
			if d == 0 || d >= 2*interval {
				t.Fatalf("a wait of %v after a slow attempt", d)
			}
		}
		if short < 50 { // of a new interval it would be all of it, each time
			t.Errorf("%d waits of 200 were for what was left of an interval", short)
		}
	})
}
