package main

import (
	"slices"
	"strings"
)

// scenario is a kind of work, the peers that do it, and what is expected of ours.
type scenario struct {
	id, what string
	store    store
	field    []string // peers and probes, in the order of the first round
	heat     bool     // a JVM takes part, as a client: each peer first has turns that do not count

	procs      int
	goroutines int  // in each process
	ownKeys    bool // each goroutine has its own key, otherwise all want one
	turns      bool // the one goroutine of each process takes turns with the other: see handOvers

	goals []goal
}

// goal compares a metric of ours with that of another peer. Without a limit, it only
// compares.
type goal struct {
	suffix  string // of the scenario's ID, if it is not the first goal
	what    string
	unit    string
	metric  metric
	peer    string   // whose metric; "": ours
	beside  []string // peers and probes whose metrics are added up; nil: the best peer
	theirs  metric   // of these; nil: the same
	atLeast float64
	atMost  float64
}

func allScenarios() []*scenario {
	return slices.Concat(redisScenarios(), otherScenarios())
}

func redisScenarios() []*scenario {
	bare := []string{bare}
	return []*scenario{
		{
			id: "F1", what: "1 goroutine: time", field: redisPeers, procs: 1, goroutines: 1, ownKeys: true,
			goals: []goal{
				{unit: micros, metric: timePerLock, beside: bare, atMost: 1.15},
				{suffix: ".both", what: "CPU of client and server per lock", unit: micros, metric: cpuPerLock, beside: bare, atMost: 1.15},
			},
		},
		{
			id: "F2", what: "8 goroutines, own keys", field: redisPeers, procs: 1, goroutines: 8, ownKeys: true,
			goals: []goal{
				{unit: perSecond, metric: rate, atLeast: 0.95},
				{suffix: ".cpu", what: "server CPU per lock", unit: micros, metric: serverPerLock, beside: bare, atMost: 1.10},
				{suffix: ".both", what: "CPU of client and server per lock", unit: micros, metric: cpuPerLock, beside: bare, atMost: 1.10},
			},
		},
		{
			id: "F3", what: "1,000 goroutines, own keys", field: append(slices.Clone(redisPeers), "pipeline"),
			procs: 1, goroutines: 1000, ownKeys: true,
			goals: []goal{
				{unit: perSecond, metric: rate, atLeast: 2.5},
				{suffix: ".limit", what: "beside pairs in full pipelines", unit: perSecond, metric: rate, beside: []string{"pipeline"}, atLeast: 0.45},
			},
		},
		{
			id: "F4", what: "1,000 goroutines, one key", field: redisPeers, procs: 1, goroutines: 1000,
			goals: []goal{
				{unit: perSecond, metric: rate, atLeast: 50},
				{suffix: ".wait", what: "longest wait, over the mean of a full queue", unit: millis, metric: longestWait, beside: []string{ours}, theirs: meanWait, atMost: 3},
			},
		},
		{
			id: "F5", what: "4 processes x 64 goroutines, one key", field: redisPeers, procs: 4, goroutines: 64,
			goals: []goal{{unit: perSecond, metric: rate, atLeast: 50}},
		},
		{
			id: "F6", what: "hand-over between 2 processes", field: append(slices.Clone(redisPeers), "publish", "ping"),
			procs: 2, goroutines: 1, turns: true,
			goals: []goal{{unit: micros, metric: medianSample, beside: []string{"publish", "ping"}, atMost: 1.5}},
		},
	}
}

// otherScenarios are those of the other stores, and Redisson's.
func otherScenarios() []*scenario {
	var all []*scenario
	for _, o := range []struct {
		id, name   string
		store      store
		field      []string
		memory     []string // the peer whose locks are not on disk
		goroutines int
		procs      int // with one key
		own, one   float64
	}{
		{id: "F14", name: "ZooKeeper", store: inZooKeeper, field: []string{ours, goZooKeeper}, goroutines: 100, procs: 1, own: 1, one: 20},
		{id: "F17", name: "PostgreSQL", store: inPostgreSQL, field: []string{ours, forUpdate, advisory}, memory: []string{advisory}, goroutines: 8, procs: 2, own: 0.9, one: 5},
		{id: "F18", name: "etcd", store: inEtcd, field: []string{ours, etcdMutex}, goroutines: 8, procs: 2, own: 1, one: 5},
		{id: "F19", name: "Redisson", store: inRedis, field: []string{ours, sharing, redisson}, goroutines: 64, procs: 1, own: 1, one: 20},
	} {
		goals := func(least float64) []goal {
			goals := []goal{{unit: perSecond, metric: rate, atLeast: least}}
			if o.memory != nil {
				goals = append(goals, goal{suffix: ".memory", what: "beside a lock in memory", unit: perSecond, metric: rate, beside: o.memory})
			}
			if slices.Contains(o.field, sharing) {
				goals = append(goals, goal{suffix: ".shared", what: "in its record", peer: sharing, unit: perSecond, metric: rate, atLeast: 1})
			}
			return goals
		}
		base := scenario{store: o.store, field: o.field, heat: slices.Contains(o.field, redisson) || o.store == inZooKeeper, procs: 1}
		alone, own, one := base, base, base
		alone.id, alone.what, alone.goroutines = o.id+".alone", o.name+", 1 goroutine", 1
		alone.ownKeys, alone.goals = true, goals(o.own)
		own.id, own.what, own.goroutines = o.id+".own", o.name+", "+count(float64(o.goroutines))+" goroutines, own keys", o.goroutines
		own.ownKeys, own.goals = true, goals(o.own)
		one.id, one.what, one.goroutines = o.id+".one", o.name+", one key", max(o.goroutines, 64)/o.procs
		one.procs, one.goals = o.procs, goals(o.one)
		if o.store != inZooKeeper { // a round trip is a write to disk there
			all = append(all, &alone)
		}
		all = append(all, &own, &one)
	}
	return all
}

// group returns the scenario's name for -only: F17 for F17.own.
func (s *scenario) group() string {
	g, _, _ := strings.Cut(s.id, ".")
	return g
}
