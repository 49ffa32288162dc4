package main

import (
	"slices"
	"strings"
	"time"
)

// scenario is a kind of work, the peers that do it, and what is expected of ours.
type scenario struct {
	id, what string
	store    store
	field    []string // ours, and the peers and probes beside it, in the order of the first round
	heat     bool     // a JVM takes part: each peer first has turns that do not count

	procs      int
	goroutines int  // in each process
	ownKeys    bool // each goroutine has its own key, otherwise all want one
	first      int  // goroutines of the first process, if not as many
	hold       time.Duration
	open       bool    // half as many locks begin as these goroutines get with the bare pair
	rate       float64 // that is, a second
	bulk       bool    // the field is in package variable bulk
	once       bool    // there is one round
	turns      bool    // the one goroutine of each process takes turns with the other: see handOvers

	goals []goal
}

// goal compares a metric of ours with the same of another peer.
type goal struct {
	suffix  string // of the scenario's ID, if it is not the first goal
	what    string
	unit    string
	metric  metric
	beside  string  // peer, or probes that are added up, such as a+b; "": the best peer
	theirs  metric  // of these; nil: the same
	limit   float64 // instead of theirs; 0: none
	atLeast float64
	atMost  float64
}

// faster are the goals of a scenario in which our rate is to be that of the best peer, or
// many times of it.
func faster(times float64) []goal { return []goal{{unit: perSecond, metric: rate, atLeast: times}} }

// cost is the goal of CPU time beside the bare pair.
func cost(atMost float64) goal {
	return goal{suffix: ".both", what: "CPU of client and server per lock", unit: micros, metric: cpuPerLock, beside: bare, atMost: atMost}
}

func allScenarios() []*scenario {
	onRedis := func(more ...string) []string {
		return append([]string{ours, bare, "redislock", "redsync", "rueidislock"}, more...)
	}
	onZooKeeper := scenario{store: inZooKeeper, field: []string{ours, goZooKeeper}, heat: true, procs: 1}
	onPostgreSQL := scenario{store: inPostgreSQL, field: []string{ours, forUpdate, advisory}, procs: 1}
	onEtcd := scenario{store: inEtcd, field: []string{ours, etcdMutex}, procs: 1}
	shared := scenario{field: []string{sharing, redisson}, heat: true, procs: 1}
	return slices.Concat([]*scenario{
		{
			id: "F1", what: "1 goroutine: time", field: onRedis(), procs: 1, goroutines: 1, ownKeys: true,
			goals: []goal{{unit: micros, metric: timePerLock, beside: bare, atMost: 1.15}, cost(1.15)},
		},
		{
			id: "F2", what: "8 goroutines, own keys", field: onRedis(), procs: 1, goroutines: 8, ownKeys: true,
			goals: append(faster(0.95),
				goal{suffix: ".cpu", what: "server CPU per lock", unit: micros, metric: serverPerLock, beside: bare, atMost: 1.10},
				cost(1.10)),
		},
		{
			id: "F3", what: "1,000 goroutines, own keys", field: onRedis(pipeline), procs: 1, goroutines: 1000, ownKeys: true,
			goals: append(faster(2.5),
				goal{suffix: ".limit", what: "beside pairs in full pipelines", unit: perSecond, metric: rate, beside: pipeline, atLeast: 0.45}),
		},
		{
			id: "F4", what: "1,000 goroutines, one key", field: onRedis(direct), procs: 1, goroutines: 1000,
			goals: append(faster(50),
				goal{suffix: ".wait", what: "longest wait, over the mean of a full queue", unit: millis, metric: longestWait, beside: ours, theirs: meanWait, atMost: 3}),
		},
		{id: "F5", what: "4 processes x 64 goroutines, one key", field: onRedis(direct), procs: 4, goroutines: 64, goals: faster(50)},
		{
			id: "F6", what: "hand-over between 2 processes", field: onRedis(publish, ping), procs: 2, goroutines: 1, turns: true,
			goals: []goal{{unit: micros, metric: timeToPass, beside: publish + "+" + ping, atMost: 1.5}},
		},
		{
			id: "F8", what: "half of the capacity with the bare pair: half of all locks within", field: onRedis(), procs: 1, goroutines: 64, ownKeys: true, open: true,
			goals: []goal{
				{unit: micros, metric: passed(0.5), beside: bare, atMost: 1.15},
				{suffix: ".99", what: "99 %", unit: micros, metric: passed(0.99), beside: bare, atMost: 1.15},
				{suffix: ".999", what: "99.9 %", unit: micros, metric: passed(0.999), beside: bare, atMost: 1.15},
			},
		},
		onZooKeeper.withOwnKeys("F14.own", "ZooKeeper, 100 goroutines, own keys", 100, 1),
		onZooKeeper.withOneKey("F14.one", "ZooKeeper, one key", 1, 100, 20),
		onPostgreSQL.withOwnKeys("F17.alone", "PostgreSQL, 1 goroutine", 1, 0.9),
		onPostgreSQL.withOwnKeys("F17.own", "PostgreSQL, 8 goroutines, own keys", 8, 0.9),
		onPostgreSQL.withOneKey("F17.one", "PostgreSQL, one key", 2, 32, 5),
		onEtcd.withOwnKeys("F18.alone", "etcd, 1 goroutine", 1, 1),
		onEtcd.withOwnKeys("F18.own", "etcd, 8 goroutines, own keys", 8, 1),
		onEtcd.withOneKey("F18.one", "etcd, one key", 2, 32, 5),
		onEtcd.withTurns("F18.pass", "etcd", 1),
		shared.withOwnKeys("F19.alone", "Redisson's record, 1 goroutine", 1, 1),
		shared.withOwnKeys("F19.own", "Redisson's record, 64 goroutines, own keys", 64, 1),
		shared.withOneKey("F19.one", "Redisson's record, one key", 1, 64, 1),
	},
		scenario{store: inNATS, field: []string{ours, bareKV}}.pairs("F20", "NATS", 1, 1.5),
		scenario{store: inDynamoDB, field: []string{ours, cirello}}.pairs("F21", "DynamoDB (an emulator)", 1, 1),
		scenario{store: inS3, field: []string{ours, bareS3}}.pairs("F22", "S3 (an emulator)", 0.8, 1),
		scenario{store: inKubernetes, field: []string{ours, elector}}.pairs("F23", "Kubernetes", 1, 1),
		fairScenarios(), bulkScenarios())
}

func (s scenario) withOwnKeys(id, what string, goroutines int, times float64) *scenario {
	s.id, s.what, s.goroutines, s.ownKeys, s.goals = id, what, goroutines, true, faster(times)
	return &s
}

func (s scenario) withOneKey(id, what string, procs, goroutines int, times float64) *scenario {
	s.id, s.what, s.procs, s.goroutines, s.goals = id, what, procs, goroutines, faster(times)
	return &s
}

func (s scenario) withTurns(id, name string, atMost float64) *scenario {
	s.id, s.what, s.procs, s.goroutines, s.turns = id, name+", hand-over between 2 processes", 2, 1, true
	s.goals = []goal{{unit: micros, metric: timeToPass, atMost: atMost}}
	return &s
}

// pairs are scenarios of a store with a single rival. times is what our rate is to be of its
// rate, and atMost what a hand-over may take of its time.
func (s scenario) pairs(id, name string, times, atMost float64) []*scenario {
	s.procs = 1
	return []*scenario{
		s.withOwnKeys(id+".alone", name+", 1 goroutine", 1, times),
		s.withOwnKeys(id+".own", name+", 8 goroutines, own keys", 8, times),
		s.withTurns(id+".pass", name, atMost),
	}
}

// group returns the scenario's name for -only: F17 for F17.own.
func (s *scenario) group() string {
	g, _, _ := strings.Cut(s.id, ".")
	return g
}

// orders reports whether each goroutine takes the lock as often as the others.
func (s *scenario) orders() bool { return !s.ownKeys && !s.turns && s.hold == 0 && !s.bulk }
