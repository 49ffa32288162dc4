package main

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// did returns a figure with a turn of a second in each round.
func did(peer string, locks ...int64) *figure {
	f := &figure{peer: peer}
	for round, n := range locks {
		t := turn{Locks: n, Elapsed: time.Second, Finished: true, Client: time.Duration(n) * 2 * time.Microsecond}
		t.Passed, t.Full = []time.Duration{time.Duration(n)}, spread{N: 2, Sum: 4 * time.Millisecond, Max: 5 * time.Millisecond}
		t.Callers = []spread{{N: 3}, t.Full}
		f.add(round, t, nil)
	}
	return f
}

func TestJudge(t *testing.T) {
	slow := did("redsync", 9000)
	slow.stopped = true
	for _, test := range []struct {
		goal goal
		of   []*figure
		want string
	}{
		{goal{metric: rate, atLeast: 2}, []*figure{did(ours, 1000), did(bare, 400), did("redislock", 500)}, "redislock 2.00 yes"},
		{goal{metric: rate, atLeast: 2}, []*figure{did(ours, 999), did("redislock", 500)}, "redislock 2.00 no"},
		{goal{metric: rate, atLeast: 2}, []*figure{did(ours, 1000), did(bare, 100), slow}, "bare 10.0 yes"},
		{goal{metric: rate, atLeast: 2}, []*figure{did(ours, 9000), slow}, "redsync 1.00 no"},
		{goal{metric: rate, atLeast: 1}, []*figure{did(ours, 1000), did(advisory, 500)}, " 0.00 no"},
		{goal{metric: timePerLock, beside: bare, atMost: 1.15}, []*figure{did(ours, 1000), did(bare, 1100)}, "bare 1.10 yes"},
		{goal{metric: timePerLock, beside: bare, atMost: 1.15}, []*figure{did(ours, 1000), did(bare, 1200)}, "bare 1.20 no"},
		{goal{metric: cpuPerLock, beside: bare, atMost: 1}, []*figure{did(ours, 1000), did(bare, 1200)}, "bare 1.00 yes"},
		{goal{metric: timeToPass, beside: "publish+ping", atMost: 1}, []*figure{did(ours, 1000), did("publish", 300), did("ping", 200)}, "publish+ping 2.00 no"},
		{goal{metric: longestWait, beside: ours, theirs: meanWait, atMost: 3}, []*figure{did(ours, 1000)}, "distlock 2.50 yes"},
		{goal{metric: rate, atLeast: 1}, []*figure{did(sharing, 300), did(redisson, 200)}, "redisson 1.50 yes"},
		{goal{metric: rate, atLeast: 1}, []*figure{did(ours, 1000)}, " 0.00 no"},
		{goal{metric: rate, limit: 800, atMost: 1}, []*figure{did(ours, 1000)}, "limit 1.25 no"},
		{goal{metric: ofCallers(locks, slices.Max[[]float64]), beside: ours, theirs: ofCallers(mean, last), atMost: 2}, []*figure{did(ours, 1000)}, "distlock 1.50 yes"},
		{goal{metric: timePerLock, beside: bare, atMost: 1}, []*figure{did(ours, 1000)}, " 0.00 no"},
	} {
		of := make(map[string]*figure)
		for _, f := range test.of {
			of[f.peer] = f
		}
		v := judge(&scenario{field: []string{test.of[0].peer}}, test.goal, of)
		if got := fmt.Sprintf("%s %s %s", v.peer, ratio(v.ratio), v.met()); got != test.want {
			t.Errorf("%+v: %q, want %q", test.goal, got, test.want)
		}
	}
}

// A ratio is taken in each round, and those of the two halves are compared.
func TestHalves(t *testing.T) {
	for _, test := range []struct {
		ours, theirs []int64
		want         []float64
		noisy        bool
	}{
		{[]int64{100, 200, 300, 400}, []int64{100, 200, 300, 400}, []float64{1, 1}, false},
		{[]int64{100, 100, 100, 200, 200}, []int64{100, 100, 100, 100, 100}, []float64{1, 2}, true},
		{[]int64{100}, []int64{100}, nil, false},
	} {
		of := map[string]*figure{ours: did(ours, test.ours...), bare: did(bare, test.theirs...)}
		v := judge(&scenario{field: []string{ours}}, goal{metric: rate}, of)
		if !slices.Equal(v.halves, test.want) || v.noisy() != test.noisy {
			t.Errorf("%v over %v: %v, noisy %v", test.ours, test.theirs, v.halves, v.noisy())
		}
	}
}

func TestHandOvers(t *testing.T) {
	moves := []move{
		{10, true, 0}, {20, false, 0}, {25, true, 0}, {30, false, 0}, // by itself: not a hand-over
		{47, true, 1}, {50, false, 1}, {61, true, 0}, {70, false, 0},
	}
	slices.SortFunc(moves, func(a, b move) int { return b.proc - a.proc })
	if times, err := handOvers(moves); err != nil || !slices.Equal(times, []time.Duration{17, 11}) {
		t.Errorf("%v, %v", times, err)
	}
	if times, err := handOvers(append(moves, move{48, true, 0})); !errors.Is(err, errTwoHolders) {
		t.Errorf("%v, %v", times, err)
	}
	if times, err := handOvers(nil); err != nil || times != nil {
		t.Errorf("%v, %v", times, err)
	}
}
