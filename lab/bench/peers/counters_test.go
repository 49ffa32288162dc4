package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"
)

func TestParseCounters(t *testing.T) {
	info := strings.ReplaceAll(`# Memory
used_memory:5000
used_memory_human:4.88K
mem_clients_normal:1000
mem_total_replication_buffers:500

# Replication
connected_slaves:2
slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0
slave1:ip=127.0.0.1,port=6381,state=wait_bgsave,offset=0,lag=0
slave_expires_tracked_keys:0
master_repl_offset:140

# CPU
used_cpu_sys:1.250000
used_cpu_user:2.500000
used_cpu_sys_children:7.000000

# Commandstats
cmdstat_get:calls=21,usec=175,usec_per_call=8.33
cmdstat_client|setinfo:calls=2,usec=1
cmdstat_info:calls=100,usec=1

# Keyspace
db0:keys=3,expires=2,avg_ttl=0
db7:keys=4,expires=2,avg_ttl=0
`, "\n", "\r\n")
	got := parseCounters(info)
	want := counters{commands: 23, cpu: 3750 * time.Millisecond, keys: 7, memory: 3500, stream: 140, replicas: 1}
	if got != want {
		t.Errorf("%+v instead of %+v", got, want)
	}
	if since := got.since(counters{commands: 3, cpu: time.Second, keys: 1, memory: 4000, stream: 40}); since !=
		(counters{commands: 20, cpu: 2750 * time.Millisecond, keys: 6, memory: -500, stream: 100, replicas: 1}) {
		t.Errorf("since %+v", since)
	}
}

// leaverPeer leaves a key of twenty bytes and more behind for each lock.
type leaverPeer struct{ *barePeer }

func newLeaver(url string) (Peer, error) {
	c, err := newClient(url)
	return leaverPeer{&barePeer{client: c}}, err
}

func (p leaverPeer) Lock(ctx context.Context, key string) (Held, error) {
	h, err := p.barePeer.Lock(ctx, key)
	return Held{Unlock: func(ctx context.Context) error {
		if err := p.client.Set(ctx, key+":left", "twenty bytes of value", time.Minute).Err(); err != nil {
			return err
		}
		return h.Unlock(ctx)
	}}, err
}

// What is left in Redis, and what a replica gets, is counted for each lock.
func TestLeft(t *testing.T) {
	b := shortBench(t, server(t))
	for name, want := range map[string]struct {
		keys, maxKeys  float64 // for each lock
		memory, stream [2]float64
	}{
		// A SET and a DEL of a key of about 40 bytes.
		"bare": {0, 0, [2]float64{-1, 1}, [2]float64{100, 250}},
		// And another SET: an entry of the hash table and of that of expiries, the key, the value.
		"leaver": {1, 1, [2]float64{100, 400}, [2]float64{200, 450}},
		ours:     {0, 2, [2]float64{-1, 1000}, [2]float64{100, 2000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenarioWithID(t, "F16")
			s.field = []string{name}
			s.shape.loops, s.shape.total = 10, 1280 // two orders
			sl, err := b.slice(t.Context(), s, name, 0, b.cfg.slice)
			if err != nil {
				t.Fatal(err)
			}
			if !sl.finished || sl.locks != s.shape.total || len(sl.problems) > 0 {
				t.Errorf("%d locks, finished: %v, %v", sl.locks, sl.finished, sl.problems)
			}
			if n := perLock(sl, sl.server.keys); n < want.keys || n > want.maxKeys {
				t.Errorf("%.2f keys left", n)
			}
			if n := memoryLeft(sl); n < want.memory[0] || n > want.memory[1] {
				t.Errorf("%.2f bytes left", n)
			}
			if n := streamPerLock(sl); n < want.stream[0] || n > want.stream[1] {
				t.Errorf("%.1f bytes to a replica", n)
			}
		})
	}
}

// The server's CPU time is counted for each lock of each peer.
func TestServerCPU(t *testing.T) {
	b := shortBench(t, server(t))
	s := scenarioWithID(t, "F2")
	s.field = []string{ours, "bare"}
	of, err := b.measure(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range judge(s, of) {
		if v.ID == "F2.cpu" && (v.Ours < 1 || v.Ours > 10_000 || v.Best < 1 || v.Best > 10_000 || v.Ratio == 0) {
			t.Errorf("%+v", v)
		}
	}
}

// shortBench returns a benchmark of a Redis, with one round of a tenth of a second.
func shortBench(t *testing.T, redisURL string) *bench {
	t.Helper()
	b, err := newBench(&config{redis: redisURL, rounds: 1, slice: 100 * time.Millisecond, patience: 10 * time.Second}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.close)
	return b
}

// scenarioWithID returns a scenario of the short benchmark.
func scenarioWithID(t *testing.T, id string) *scenario {
	t.Helper()
	for _, s := range scenarios(true) {
		if s.id == id {
			return &s
		}
	}
	t.Fatalf("there is no scenario %s", id)
	return nil
}
