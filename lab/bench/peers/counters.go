package main

import (
	"bufio"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// counters are what a Redis says about itself. The difference between two readings is
// what happened in between.
type counters struct {
	commands int64         // executed, those in scripts included, except INFO
	cpu      time.Duration // that the server used
	keys     int64         // in all databases
	memory   int64         // bytes in use, except for connections and replication
	stream   int64         // bytes for each replica; 0 if the server never had one
	replicas int64         // that are up to date
}

// readCounters asks the server.
func readCounters(ctx context.Context, c *redis.Client) (counters, error) {
	info, err := c.Info(ctx, "all").Result()
	if err != nil {
		return counters{}, err
	}
	return parseCounters(info), nil
}

// parseCounters finds the counters in the text of INFO. Its lines look like these:
//
//	used_memory:1012432
//	cmdstat_get:calls=21,usec=175,usec_per_call=8.33
//	slave0:ip=127.0.0.1,port=6380,state=online,offset=14,lag=0
//	db0:keys=3,expires=3,avg_ttl=0
func parseCounters(info string) (n counters) {
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch {
		case strings.HasPrefix(name, "cmdstat_") && name != "cmdstat_info":
			n.commands += part(value, "calls")
		case name == "used_cpu_user", name == "used_cpu_sys":
			seconds, _ := strconv.ParseFloat(value, 64)
			n.cpu += time.Duration(seconds * float64(time.Second))
		case isNumbered(name, "db"):
			n.keys += part(value, "keys")
		case name == "used_memory":
			n.memory += integer(value)
		case name == "mem_clients_normal", name == "mem_total_replication_buffers":
			n.memory -= integer(value)
		case name == "master_repl_offset":
			n.stream = integer(value)
		case isNumbered(name, "slave") && strings.Contains(value, "state=online"):
			n.replicas++
		}
	}
	return n
}

// isNumbered reports whether a name is a number after this kind, such as db0.
func isNumbered(name, kind string) bool {
	number, ok := strings.CutPrefix(name, kind)
	_, err := strconv.Atoi(number)
	return ok && err == nil
}

// part returns the number of one part of a value like "keys=3,expires=2", or 0.
func part(value, name string) int64 {
	for p := range strings.SplitSeq(value, ",") {
		if n, ok := strings.CutPrefix(p, name+"="); ok {
			return integer(n)
		}
	}
	return 0
}

// integer returns the number in s, or 0.
func integer(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

// since returns what happened between before and n.
func (n counters) since(before counters) counters {
	return counters{
		commands: n.commands - before.commands,
		cpu:      n.cpu - before.cpu,
		keys:     n.keys - before.keys,
		memory:   n.memory - before.memory,
		stream:   n.stream - before.stream,
		replicas: n.replicas - before.replicas,
	}
}
