package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
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
var bulk = map[string]func(task) (map[string]float64, error){
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
				{unit: micros, metric: inBulk("first"), beside: quietBare, atMost: 1.5},
				{suffix: ".silence", what: "after a silence", unit: micros, metric: inBulk("silence"), beside: quietBare, atMost: 1.5},
				{suffix: ".ten", what: "ten times in a loop", unit: micros, metric: inBulk("ten"), beside: quietBare, atMost: 1.5},
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
		{suffix: ".cpu", what: "CPU of a core", unit: "%", metric: inBulk("cpu"), limit: max(1, float64(n)/500), atMost: 1},
	}
	return &s
}

// each calls f for all numbers below n, from a thousand goroutines.
func each(n int, f func(i int) error) (errs []error) {
	errs = make([]error, n)
	var all sync.WaitGroup
	for from := range 1000 {
		all.Go(func() {
			for i := from; i < n; i += 1000 {
				errs[i] = f(i)
			}
		})
	}
	all.Wait()
	return errs
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
func measureHeld(t task) (map[string]float64, error) {
	ctx := context.Background() // the time limit is the parent's
	lock, err := newDistlock(t)
	if err != nil {
		return nil, err
	}
	before, _ := memory()
	unlocks := make([]unlockFunc, t.Goroutines)
	err = errors.Join(each(t.Goroutines, func(i int) (err error) {
		unlocks[i], err = lock(ctx, fmt.Sprintf("%s:%d", t.Key, i))
		return err
	})...)
	if err != nil {
		return nil, err
	}
	heap, _ := memory()
	cpu, begin := cpuTime(), time.Now()
	time.Sleep(2 * leaseTime)
	share := 100 * float64(cpuTime()-cpu) / float64(time.Since(begin))
	kept, lost := t.Goroutines, error(nil)
	for _, err := range each(t.Goroutines, func(i int) error { return unlocks[i](ctx) }) {
		if err != nil {
			kept, lost = kept-1, err
		}
	}
	return map[string]float64{"kept": float64(kept), "heap": (heap - before) / float64(t.Goroutines), "cpu": share}, lost
}

// measureWaiting lets goroutines wait for one key.
func measureWaiting(t task) (map[string]float64, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lock, err := newDistlock(t)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, t.Key)
	if err != nil {
		return nil, err
	}
	heapBefore, stackBefore := memory()
	for range t.Goroutines {
		go func() { _, _ = lock(ctx, t.Key) }()
	}
	time.Sleep(leaseTime / 4)
	heap, stack := memory()
	if n := runtime.NumGoroutine(); n < t.Goroutines {
		err = fmt.Errorf("%d wait", n)
	}
	n := float64(t.Goroutines)
	return map[string]float64{"heap": (heap - heapBefore) / n, "stack": (stack - stackBefore) / n}, errors.Join(err, unlock(ctx))
}

// measureUsed uses each key once.
func measureUsed(t task) (map[string]float64, error) {
	before, _ := memory()
	lock, err := newDistlock(t)
	if err != nil {
		return nil, err
	}
	err = errors.Join(each(t.Goroutines, func(i int) error { return both(lock, fmt.Sprintf("%s:%d", t.Key, i)) })...)
	after, _ := memory()
	runtime.KeepAlive(lock)
	return map[string]float64{"heap": after - before}, err
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
func starting(peer string) func(task) (map[string]float64, error) {
	return func(t task) (map[string]float64, error) {
		t.Peer, t.URL = peer, t.URL+"?conn_max_idle_time=1s"
		var lock lockFunc
		first := func() (err error) {
			if lock, err = peers[peer](t); err == nil {
				err = both(lock, t.Key)
			}
			return err
		}
		again := func() error { return both(lock, t.Key) }
		values, errs := make(map[string]float64), []error(nil)
		for _, one := range []struct {
			name  string
			f     func() error
			times int
		}{{"first", first, 1}, {"silence", again, 1}, {"ten", first, 10}} {
			begin := time.Now()
			for range one.times {
				errs = append(errs, one.f())
			}
			values[one.name] = inMicros(time.Since(begin))
			time.Sleep(3 * time.Second)
		}
		return values, errors.Join(errs...)
	}
}
