package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/distlock-go/distlock"
)

// The names of what measures a process of this library with many locks, and the start of one.
const (
	held      = "held"
	waiting   = "waiting"
	used      = "used"
	quiet     = "quiet"
	quietBare = "quiet-bare"
)

// bulk has what is measured instead of locks per second. The values are in turn.Bulk.
var bulk = map[string]func(task, lockFunc) (map[string]float64, error){
	held: measureHeld, waiting: measureWaiting, used: measureUsed, quiet: starting(ours), quietBare: starting(bare),
}

// bulkScenarios are about a process that has many locks, or has just begun.
func bulkScenarios() []*scenario {
	many := scenario{field: []string{held}, procs: 1, bulk: true, once: true}
	return []*scenario{
		many.holding("F9.redis", "Redis", inRedis, 100_000),
		many.holding("F9.postgresql", "PostgreSQL", inPostgreSQL, 10_000),
		many.holding("F9.etcd", "etcd", inEtcd, 10_000),
		many.holding("F9.zookeeper", "ZooKeeper", inZooKeeper, 10_000),
		many.holding("F9.nats", "NATS", inNATS, 1000),
		many.holding("F9.idle", "Redis", inRedis, 1000),
		{
			id: "F9.waiter", what: "10,000 waiters: heap of each", field: []string{waiting}, procs: 1, goroutines: 10_000, bulk: true, once: true,
			goals: []goal{
				{unit: perLock, metric: inBulk("heap"), limit: 3072, atMost: 1},
				{suffix: ".stack", what: "stack", unit: perLock, metric: inBulk("stack"), limit: 8192, atMost: 1},
			},
		},
		{
			id: "F9.used", what: "100,000 keys used once: heap of the Locker", field: []string{used}, procs: 1, goroutines: 100_000, bulk: true, once: true,
			goals: []goal{{unit: perLock, metric: inBulk("heap"), limit: 1 << 20, atMost: 1}},
		},
		{
			id: "F10", what: "first lock of a process", field: []string{quiet, quietBare}, procs: 1, goroutines: 1, bulk: true,
			goals: []goal{
				{unit: micros, metric: inBulk("first"), beside: quietBare, atMost: 3},
				{suffix: ".silence", what: "after a silence", unit: micros, metric: inBulk("silence"), beside: quietBare, atMost: 1.5},
				{suffix: ".ten", what: "ten times in a loop", unit: micros, metric: inBulk("ten"), beside: quietBare, atMost: 3},
			},
		},
	}
}

// holding are the goals of a process that holds n leases of [leaseTime].
func (s scenario) holding(id, name string, in store, n int) *scenario {
	s.id, s.what, s.store, s.goroutines = id, fmt.Sprintf("%s, %d leases of %v", name, n, leaseTime), in, n
	s.goals = []goal{
		{what: "kept", unit: "leases", metric: inBulk("kept"), limit: float64(n), atLeast: 1},
		{suffix: ".heap", what: "heap of each", unit: perLock, metric: inBulk("heap"), limit: 4096, atMost: 1},
		{suffix: ".cpu", what: "CPU of a core", unit: "%", metric: inBulk("cpu"), limit: max(1, float64(n)/400), atMost: 1},
	}
	return &s
}

// each calls f for all numbers below n, from a thousand goroutines, and returns an error of one.
func each(n int, f func(i int) error) error {
	errs := make([]error, 1000) // the last of each
	var all sync.WaitGroup
	for from := range errs {
		all.Go(func() {
			for i := from; i < n; i += len(errs) {
				errs[from] = cmp.Or(f(i), errs[from])
			}
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// memory returns the heap and the stacks in use, which the collector makes shorter.
func memory() (heap, stack float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	runtime.GC()
	runtime.GC() // pools are empty after the second
	runtime.ReadMemStats(&after)
	return float64(after.HeapAlloc), float64(before.StackInuse)
}

// measureHeld holds as many leases as the task says for two of them, and counts what is left.
func measureHeld(t task, lock lockFunc) (map[string]float64, error) {
	before, _ := memory()
	unlocks := make([]unlockFunc, t.Goroutines)
	err := each(t.Goroutines, func(i int) (err error) {
		unlocks[i], err = lock(context.Background(), fmt.Sprintf("%s:%d", t.Key, i))
		return err
	})
	if err != nil {
		return nil, err
	}
	heap, _ := memory()
	cpu, begin := cpuTime(), time.Now()
	time.Sleep(2 * leaseTime)
	share := 100 * float64(cpuTime()-cpu) / float64(time.Since(begin))
	var lost atomic.Int64
	err = each(t.Goroutines, func(i int) error {
		err := unlocks[i](context.Background())
		if errors.Is(err, distlock.ErrLost) {
			lost.Add(1)
		}
		return err
	})
	n := float64(t.Goroutines)
	return map[string]float64{"kept": n - float64(lost.Load()), "heap": (heap - before) / n, "cpu": share}, err
}

// measureWaiting lets goroutines wait for one key.
func measureWaiting(t task, lock lockFunc) (map[string]float64, error) {
	unlock, err := lock(context.Background(), t.Key)
	if err != nil {
		return nil, err
	}
	heapBefore, stackBefore := memory()
	for range t.Goroutines {
		go func() { _, _ = lock(context.Background(), t.Key) }()
	}
	time.Sleep(leaseTime / 4)
	heap, stack := memory()
	if n := runtime.NumGoroutine(); n < t.Goroutines {
		err = fmt.Errorf("%d wait", n)
	}
	n := float64(t.Goroutines)
	return map[string]float64{"heap": (heap - heapBefore) / n, "stack": (stack - stackBefore) / n}, errors.Join(err, unlock(context.Background()))
}

// measureUsed uses each key once.
func measureUsed(t task, lock lockFunc) (map[string]float64, error) {
	use := func(n int) error {
		return each(n, func(i int) error { return both(lock, fmt.Sprintf("%s:%d:%d", t.Key, n, i)) })
	}
	err := use(1000) // the client has its connections
	before, _ := memory()
	err = errors.Join(err, use(t.Goroutines))
	after, _ := memory()
	return map[string]float64{"heap": max(1, after-before)}, err
}

func both(lock lockFunc, key string) error {
	unlock, err := lock(context.Background(), key)
	if err == nil {
		err = unlock(context.Background())
	}
	return err
}

// starting measures the first lock of a process, the first after a silence in which all
// connections were closed, as go-redis does after half an hour, and of ten clients in a loop.
func starting(peer string) func(task, lockFunc) (map[string]float64, error) {
	return func(t task, _ lockFunc) (values map[string]float64, err error) {
		t.Peer, t.URL = peer, t.URL+"?conn_max_idle_time=1s"
		values = make(map[string]float64)
		var lock lockFunc
		measure := func(name string, opened int) {
			begin := time.Now()
			for range max(1, opened) {
				if opened > 0 {
					lock, err = peers[peer](t)
				}
				if err == nil {
					err = both(lock, t.Key)
				}
			}
			values[name] = inMicros(time.Since(begin))
			time.Sleep(3 * time.Second)
		}
		measure("first", 1)
		measure("silence", 0)
		measure("ten", 10)
		return values, err
	}
}
