package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// scenario is a kind of work and the peers that do it.
type scenario struct {
	id    string
	what  string
	field []string // peers and probes, in the order of the first round
	shape shape

	store      store
	replicated bool // each turn has a new Redis, with a replica
	heat       bool // each peer first has turns that do not count
	java       bool // a peer needs Java and Maven

	rounds int // maximum; 0: the number that the flags say
	long   bool
	// split is the number of short turns into which a turn is split; 0: none. An
	// otherwise idle client and server keep a fast or a slow rhythm for as long as they
	// live, depending on how the CPUs wake each other. Only many crews have both
	// rhythms in proportion.
	split int
}

// shape describes the work.
type shape struct {
	procs      int
	goroutines int // total
	ownKeys    bool
	newKeys    bool // each lock has a new key
	hold       time.Duration
	loops      int   // locks for each goroutine, repeatedly; 0: as many as the time allows
	grow       bool  // after the first loops, as many more as the time allows
	total      int64 // with loops: repeat them until there were so many locks
	order      bool  // find out which callers overtook others
	commands   bool  // count the server's commands
}

// holdTime is how long F7 and F8 hold the lock.
const holdTime = 10 * time.Millisecond

// scenarios returns all scenarios. Short ones take seconds.
func scenarios(short bool) []scenario {
	loops, keys := 10, int64(1_000_000)
	if short {
		loops, keys = 1, 8_000
	}
	all := []scenario{
		{
			id: "F1", what: "lock+unlock, 1 goroutine",
			field: redisPeers, split: 10,
			shape: shape{procs: 1, goroutines: 1, ownKeys: true},
		},
		{
			id: "F2", what: "8 goroutines, own keys",
			field: redisPeers,
			shape: shape{procs: 1, goroutines: 8, ownKeys: true},
		},
		{
			id: "F3", what: "1,000 goroutines, own keys",
			field: slices.Concat(redisPeers, []string{"pipeline"}),
			shape: shape{procs: 1, goroutines: 1000, ownKeys: true},
		},
		{
			id: "F4", what: "1,000 goroutines, one key",
			field: redisPeers,
			shape: shape{procs: 1, goroutines: 1000, loops: loops, grow: true, order: true},
		},
		{
			id: "F5", what: "4 processes x 64 goroutines, one key",
			field: redisPeers,
			shape: shape{procs: 4, goroutines: 256, loops: loops, grow: true},
		},
		{
			id: "F6", what: "2 processes x 1 goroutine, one key",
			field: slices.Concat(redisPeers, []string{"publish", "ping"}), split: 5,
			shape: shape{procs: 2, goroutines: 2},
		},
	}
	for _, n := range waiterCounts {
		all = append(all, scenario{
			id: "F7." + n.text, what: n.comma + " waiters, 10 ms each",
			field: []string{ours, "polling"}, rounds: 3, long: n.n > 100,
			shape: shape{procs: min(n.n, 4), goroutines: n.n, hold: holdTime, loops: 1},
		})
	}
	for _, n := range waiterCounts[2:] {
		all = append(all, scenario{
			id: "F8." + n.text, what: n.comma + " waiters, 10 ms each",
			field: redisPeers, rounds: 1, long: n.n > 100,
			shape: shape{procs: 4, goroutines: n.n, hold: holdTime, loops: 1, commands: true},
		})
	}
	all = append(all,
		scenario{
			id: "F14.own", what: "ZooKeeper, 100 goroutines, own keys",
			field: []string{ours, goZooKeeper}, store: inZooKeeper, heat: true, split: 5,
			shape: shape{procs: 1, goroutines: 100, ownKeys: true},
		},
		scenario{
			id: "F14.one", what: "ZooKeeper, 100 goroutines, one key",
			field: []string{ours, goZooKeeper}, store: inZooKeeper,
			shape: shape{procs: 1, goroutines: 100, loops: loops, grow: true},
		},
		scenario{
			id: "F16", what: count(float64(keys)) + " keys, each locked once",
			field: redisPeers, rounds: 1, replicated: true,
			shape: shape{procs: 1, goroutines: 64, ownKeys: true, newKeys: true, loops: 125, total: keys},
		},
	)
	for _, other := range []struct {
		id    string
		name  string
		store store
		field []string
	}{
		{"F17", "PostgreSQL with fsync", inPostgreSQL, []string{ours, forUpdate, advisory}},
		{"F18", "etcd with fsync", inEtcd, []string{ours, etcdMutex}},
	} {
		all = append(all,
			scenario{
				id: other.id + ".alone", what: other.name + ", 1 goroutine",
				field: other.field, store: other.store,
				shape: shape{procs: 1, goroutines: 1, ownKeys: true},
			},
			scenario{
				id: other.id + ".own", what: other.name + ", 8 goroutines, own keys",
				field: other.field, store: other.store,
				shape: shape{procs: 1, goroutines: 8, ownKeys: true},
			},
			scenario{
				id: other.id + ".one", what: other.name + ", 2 processes x 32 goroutines, one key",
				field: other.field, store: other.store,
				shape: shape{procs: 2, goroutines: 64, loops: loops, grow: true},
			},
		)
	}
	all = append(all, javaScenarios(loops)...)
	if short {
		all = slices.DeleteFunc(all, func(s scenario) bool { return s.long })
	}
	return all
}

// javaScenarios returns F19 and F20, which compare with Redisson and Curator.
func javaScenarios(loops int) []scenario {
	var all []scenario
	for _, other := range []struct {
		id    string
		store store
		field []string
		many  int // goroutines with own keys, and for one key
	}{
		{"F19", inRedis, []string{ours, sharing, redisson}, 64},
		{"F20", inZooKeeper, []string{ours, curator}, 100},
	} {
		base := scenario{field: other.field, store: other.store, heat: true, java: true}
		add := func(id, what string, s shape) {
			one := base
			one.id, one.what, one.shape = other.id+id, what, s
			all = append(all, one)
		}
		rival := other.field[len(other.field)-1]
		add(".alone", "beside "+rival+", 1 goroutine", shape{procs: 1, goroutines: 1, ownKeys: true})
		add(".own", fmt.Sprintf("beside %s, %d goroutines, own keys", rival, other.many), shape{procs: 1, goroutines: other.many, ownKeys: true})
		add(".one", fmt.Sprintf("beside %s, %d goroutines, one key", rival, other.many), shape{procs: 1, goroutines: other.many, loops: loops, grow: true})
		add(".procs", "beside "+rival+", 4 processes x 16, one key", shape{procs: 4, goroutines: 64, loops: loops, grow: true})
	}
	return all
}

// waiterCounts are the numbers of waiters of F7. F8 uses the last two.
var waiterCounts = []struct {
	n           int
	text, comma string
}{
	{2, "2", "2"}, {8, "8", "8"}, {64, "64", "64"}, {1000, "1000", "1,000"},
}

// group returns the goal of a scenario: F7 for F7.64.
func group(id string) string {
	g, _, _ := strings.Cut(id, ".")
	return g
}
