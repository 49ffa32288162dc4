package main

import (
	"context"
	"math/rand/v2"
	"testing"
)

func TestOvertaken(t *testing.T) {
	for name, test := range map[string]struct {
		order []int32
		some  int64
		most  int64
	}{
		"nobody":    {nil, 0, 0},
		"in order":  {[]int32{0, 1, 2, 3}, 0, 0},
		"one late":  {[]int32{1, 2, 3, 0}, 1, 3},
		"one early": {[]int32{3, 0, 1, 2}, 3, 1},
		"backwards": {[]int32{3, 2, 1, 0}, 3, 3},
		"gaps":      {[]int32{2, 5, 3, 9, 8}, 2, 1}, // numbers that later ones replaced
	} {
		a := newArrivals(len(test.order))
		a.come.Store(10)
		for _, n := range test.order {
			a.grant(&arriving{number: n})
		}
		got := a.count()
		want := overtaken{Waits: int64(len(test.order)), Some: test.some, Most: test.most}
		if got != want {
			t.Errorf("%s: %+v instead of %+v", name, got, want)
		}
	}
}

func TestOvertakenAtRandom(t *testing.T) {
	a := newArrivals(300)
	a.come.Store(300)
	var most int64
	order := rand.Perm(300)
	for i, n := range order {
		a.grant(&arriving{number: int32(n)})
		by := int64(0)
		for _, before := range order[:i] {
			if before > n {
				by++
			}
		}
		most = max(most, by)
	}
	if got := a.count(); got.Most != most {
		t.Errorf("%d instead of %d", got.Most, most)
	}
}

// A number comes from the last time that the caller began to wait.
func TestArriving(t *testing.T) {
	a := newArrivals(2)
	parent, cancel := context.WithCancel(t.Context())
	x, y := a.arriving(parent), a.arriving(parent)
	x.Done()
	y.Done()
	if x.Done(); x.number <= y.number {
		t.Errorf("%d before %d", x.number, y.number)
	}
	child, stop := context.WithCancelCause(&x)
	defer stop(nil)
	cancel()
	if <-child.Done(); child.Err() == nil {
		t.Error("does not end")
	}
}

// A caller that is served at once may never call Done. It arrived when it was served:
// after the callers that wait, which it has overtaken.
func TestArrivingWithoutWaiting(t *testing.T) {
	a := newArrivals(4)
	first, second, waits, third := a.arriving(t.Context()), a.arriving(t.Context()), a.arriving(t.Context()), a.arriving(t.Context())
	a.grant(&first)
	a.grant(&second)
	if got, want := a.count(), (overtaken{Waits: 2}); got != want {
		t.Errorf("one after the other: %+v instead of %+v", got, want)
	}
	waits.Done()
	a.grant(&third)
	a.grant(&waits)
	if got, want := a.count(), (overtaken{Waits: 4, Some: 1, Most: 1}); got != want {
		t.Errorf("past a waiter: %+v instead of %+v", got, want)
	}
}
