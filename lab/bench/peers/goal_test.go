package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestJudged(t *testing.T) {
	for _, test := range []struct {
		ours, best, goal float64
		direction        string
		met              bool
	}{
		{110, 100, 1.10, atMost, true},
		{111, 100, 1.10, atMost, false},
		{300, 100, 3, atLeast, true},
		{299, 100, 3, atLeast, false},
		{300, 0, 3, atLeast, false}, // there is nothing to compare with
		{300, 0, 3, atMost, false},
		{0, 100, 3, atMost, false},
		{math.Inf(1), 100, 1, atLeast, false},
		{math.NaN(), 100, 1, atMost, false},
	} {
		v := judged(verdict{Ours: test.ours, Best: test.best, Goal: test.goal, Direction: test.direction})
		if v.Met != test.met || math.IsNaN(v.Ratio) || math.IsInf(v.Ratio, 0) {
			t.Errorf("%+v: %+v", test, v)
		}
	}
}

// did returns a figure with one slice.
func did(s *scenario, peer string, sl slice) *figure {
	if sl.elapsed == 0 {
		sl.elapsed = time.Second
	}
	return &figure{scenario: s, peer: peer, slices: []*slice{&sl}}
}

func TestGoals(t *testing.T) {
	at := func(d time.Duration) (h histogram) { h.add(d); return h }
	const us, ms = time.Microsecond, time.Millisecond
	for _, test := range []struct {
		id    string
		ours  slice
		peers map[string]slice
		want  string // id, ratio, whether it is met, and the other peer
	}{
		{"F1", slice{locks: 1000, finished: true}, map[string]slice{"bare": {locks: 1090, finished: true}, "redsync": {locks: 9000, finished: true}}, "F1 1.09 true bare"},
		{"F1", slice{locks: 1000, finished: true}, map[string]slice{"bare": {locks: 1110, finished: true}}, "F1 1.11 false bare"},
		{"F2", slice{locks: 1000, finished: true}, map[string]slice{"bare": {locks: 500, finished: true}, "redsync": {locks: 800, finished: true}}, "F2 1.25 true redsync, F2.cpu 0 false bare"},
		{
			"F2", slice{locks: 1000, finished: true, server: counters{cpu: 15 * ms}},
			map[string]slice{"bare": {locks: 100, finished: true, server: counters{cpu: ms}}, "redsync": {locks: 1000, finished: true}},
			"F2 1.00 true redsync, F2.cpu 1.50 false bare",
		},
		{"F3", slice{locks: 750, finished: true}, map[string]slice{"bare": {locks: 300, finished: true}}, "F3 2.50 true bare, F3.limit 0 false "},
		{"F3", slice{locks: 900, finished: true}, map[string]slice{"bare": {locks: 300, finished: true}, "pipeline": {locks: 3000, finished: true}}, "F3 3.00 true bare, F3.limit 0.30 false pipeline"},
		// A peer that does not finish is the best only if no peer finishes.
		{"F5", slice{locks: 100, finished: true, shares: []int64{30, 20, 10, 40}}, map[string]slice{"bare": {locks: 2, finished: true}, "redsync": {locks: 50}}, "F5 50.0 true bare, F5.share 4.00 false least, F5.register 0 true "},
		{"F5", slice{locks: 100, finished: true, shares: []int64{25, 25}, backwards: 2, overlaps: 1}, map[string]slice{"redsync": {locks: 50}}, "F5 2.00 false redsync (did not finish), F5.share 1.00 true least, F5.register 3.00 false "},
		{"F5", slice{locks: 100, shares: []int64{25, 0}}, map[string]slice{"bare": {locks: 2, finished: true}}, "F5 0 false bare, F5.share 25.0 false least, F5.register 0 true "},
		{"F4", slice{locks: 100, finished: true, full: spread{N: 2, Sum: 4 * ms, Max: 6 * ms}, overtaken: overtaken{Most: 64}}, map[string]slice{"bare": {locks: 1, finished: true}}, "F4 100 true bare, F4.wait 3.00 true mean, F4.order 64.0 true "},
		{"F4", slice{locks: 100, finished: true, full: spread{N: 1, Sum: 2 * ms, Max: 7 * ms}, overtaken: overtaken{Most: 65}}, nil, "F4 0 false , F4.wait 3.50 false mean, F4.order 65.0 false "},
		{"F6", slice{finished: true, handOvers: at(146 * us)}, map[string]slice{"publish": {waits: at(80 * us)}, "ping": {waits: at(70 * us)}}, "F6 0.97 true publish+ping"},
		{"F6", slice{finished: true, handOvers: at(180 * us)}, map[string]slice{"publish": {waits: at(80 * us)}, "ping": {waits: at(70 * us)}}, "F6 1.20 false publish+ping"},
		{"F6", slice{finished: true}, map[string]slice{"publish": {waits: at(80 * us)}, "ping": {waits: at(70 * us)}}, "F6 0 false publish+ping"},
		{"F7.8", slice{held: 98, span: 100, finished: true}, map[string]slice{"polling": {held: 10, span: 100}}, "F7.8 0.98 true polling"},
		{"F7.8", slice{held: 96, span: 100, finished: true}, nil, "F7.8 0.96 false "},
		{"F8.64", slice{locks: 10, server: counters{commands: 39}, finished: true}, map[string]slice{"bare": {locks: 10, server: counters{commands: 900}, finished: true}, "redsync": {locks: 9, server: counters{commands: 90}, finished: true}}, "F8.64 3.90 true redsync"},
		{"F8.64", slice{locks: 10, server: counters{commands: 41}, finished: true}, nil, "F8.64 4.10 false "},
		{"F14.own", slice{locks: 99, finished: true}, map[string]slice{goZooKeeper: {locks: 100, finished: true}}, "F14.own 0.99 false go-zookeeper"},
		{"F14.own", slice{locks: 100, finished: true}, map[string]slice{goZooKeeper: {locks: 100, finished: true}}, "F14.own 1.00 true go-zookeeper"},
		{"F14.one", slice{locks: 1990, finished: true}, map[string]slice{goZooKeeper: {locks: 100, finished: true}}, "F14.one 19.9 false go-zookeeper"},
		{"F14.one", slice{locks: 2000, finished: true}, map[string]slice{goZooKeeper: {locks: 100}}, "F14.one 20.0 true go-zookeeper (did not finish)"},
		// The advisory lock is not the best peer: it is in memory.
		{
			"F17.own", slice{locks: 100, finished: true},
			map[string]slice{forUpdate: {locks: 100, finished: true}, advisory: {locks: 1000, finished: true}},
			"F17.own 1.00 true for-update, F17.own.memory 0.10 false advisory",
		},
		{"F17.one", slice{locks: 499, finished: true}, map[string]slice{forUpdate: {locks: 100, finished: true}}, "F17.one 4.99 false for-update"},
		{"F17.one", slice{locks: 500, finished: true}, map[string]slice{advisory: {locks: 100, finished: true}}, "F17.one 0 false , F17.one.memory 5.00 false advisory"},
		{"F18.alone", slice{locks: 99, finished: true}, map[string]slice{etcdMutex: {locks: 100, finished: true}}, "F18.alone 0.99 false concurrency"},
		{"F18.one", slice{locks: 500, finished: true}, map[string]slice{etcdMutex: {locks: 100, finished: true}}, "F18.one 5.00 true concurrency"},
		{
			"F16", slice{locks: 1000, finished: true, server: counters{memory: 900, stream: 3000}},
			map[string]slice{"bare": {locks: 1000, finished: true, server: counters{memory: -1, stream: 2000}}},
			"F16 0 true bare, F16.memory 0.90 true bare, F16.replica 1.50 false bare",
		},
		{
			"F16", slice{locks: 1000, finished: true, server: counters{keys: 2, memory: 1100, stream: 3000}}, nil,
			"F16 2.00 false , F16.memory 1.10 false , F16.replica 0 false ",
		},
		{"F16", slice{locks: 1000}, nil, "F16 0 false , F16.memory 0 false , F16.replica 0 false "},
	} {
		s := &scenario{id: test.id}
		if i := slices.IndexFunc(scenarios(false), func(s scenario) bool { return s.id == test.id }); i >= 0 {
			s = &scenarios(false)[i]
		}
		of := map[string]*figure{ours: did(s, ours, test.ours)}
		for name, sl := range test.peers {
			of[name] = did(s, name, sl)
		}
		var got []string
		for _, v := range judge(s, of) {
			met := "false"
			if v.Met {
				met = "true"
			}
			got = append(got, strings.Join([]string{v.ID, ratio(v.Ratio), met, v.BestName}, " "))
		}
		if g := strings.Join(got, ", "); g != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.id, g, test.want)
		}
	}
}

func TestGrowth(t *testing.T) {
	for many, met := range map[float64]bool{3: true, 2.5: true, 3.8: true, 4: false} {
		if v := judgeGrowth(verdict{Ours: 3.1}, verdict{Ours: many}); v.Met != met {
			t.Errorf("%+v", v)
		}
	}
}

// Each row has a sentence, and the first of each scenario has a goal.
func TestGoalsAreDefined(t *testing.T) {
	for _, s := range scenarios(false) {
		all := judge(&s, map[string]*figure{ours: did(&s, ours, slice{locks: 1, finished: true})})
		if len(all) == 0 {
			t.Errorf("%s has no goal", s.id)
		}
		for i, v := range all {
			if !slices.Contains([]string{atLeast, atMost, ""}, v.Direction) || i == 0 && v.Direction == "" || !strings.Contains(v.What, ": ") || !strings.HasPrefix(v.ID, s.id) {
				t.Errorf("%+v", v)
			}
		}
	}
}
