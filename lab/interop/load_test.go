package interop_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/test/redistest"
	"github.com/distlock-go/distlock/internal/test/testmode"
)

// TestLoad: two processes in Java and two in Go, each with some threads, count up one
// counter under one lock. No increment is lost.
func TestLoad(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	r := redistest.Start(t)
	s := servers{redis: r.Addr(), zooKeeper: startZooKeeper(t), lease: 30 * time.Second}
	javaSides := []*peer{startJava(t, s), startJava(t, s)}
	goSides := []*peer{startGo(t, s), startGo(t, s)}
	client := r.Client(t)
	const threads = 4 // of each process
	loads := []struct {
		java  []string // kinds of locks, of the threads in turn
		ours  string
		node  func(string) string // the key of Java's lock
		total int
	}{
		{[]string{"jedis.lock", "lock4j.template"}, "redislock.lock", prefix(""), 2000},
		{[]string{"redisson.lock"}, "redissonlock.lock", prefix(""), 10_000},
		{[]string{"curator.mutex"}, "zklock.lock", znode, 800},
	}
	for _, load := range loads {
		t.Run(load.ours, func(t *testing.T) {
			t.Parallel()
			key, counter := "load-"+load.ours, "counter-"+load.ours
			begin := time.Now()
			var calls []*call
			each := load.total / (2 + 2) / threads
			for thread := range threads {
				name := fmt.Sprintf("%s-%d", load.ours, thread)
				for _, p := range javaSides {
					calls = append(calls, p.start(name, load.java[thread%len(load.java)], "count", load.node(key), each, counter))
				}
				for _, p := range goSides {
					calls = append(calls, p.start(name, load.ours, "count", key, each, counter))
				}
			}
			for _, c := range calls {
				c.must(t, "done")
			}
			if got := client.Get(t.Context(), counter).Val(); got != fmt.Sprint(load.total) {
				t.Errorf("the counter is %s, want %d", got, load.total)
			}
			t.Logf("%d in %v", load.total, time.Since(begin))
		})
	}
}
