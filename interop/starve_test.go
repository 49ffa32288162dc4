package interop_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/distlock-go/distlock/internal/redistest"
	"github.com/distlock-go/distlock/internal/testmode"
)

// TestStarvation: a client in Java that polls every 100 ms beside 16 busy goroutines in two
// processes. With WithPollers it has its turns.
func TestStarvation(t *testing.T) {
	testmode.Long(t)
	t.Parallel()
	s := servers{redis: redistest.Start(t).Addr(), lease: 12 * time.Second}
	j := startJava(t, s)
	gs := []*peer{startGo(t, s), startGo(t, s)}
	const span, hold, pause, goroutines = 12_000, 5, 200, 8 // ms; goroutines of each process
	cases := []struct {
		theirs, java string
		key          func(string) string
		ours         string
	}{
		{"Spring Integration, `SPIN_LOCK`", "integration.spin", prefix("reg:"), "redislock.lock"},
		{"Spring Integration, `SPIN_LOCK`", "integration.spin", prefix("reg:"), "redislock.pollers"},
		{"Spring Integration, `PUB_SUB_LOCK`", "integration.pubsub", prefix("reg:"), "redislock.message"},
		{"Spring Integration, `PUB_SUB_LOCK`", "integration.pubsub", prefix("reg:"), "redislock.both"},
		{"lock4j, RedisTemplate executor", "lock4j.template", prefix(""), "redislock.lock"},
		{"lock4j, RedisTemplate executor", "lock4j.template", prefix(""), "redislock.pollers"},
		{"Jedis, `SET NX PX`", "jedis.lock", prefix(""), "redislock.lock"},
		{"Jedis, `SET NX PX`", "jedis.lock", prefix(""), "redislock.pollers"},
	}
	for _, c := range cases { // Java loads much at the first use
		j.must(t, "true", "first", c.java, "try", "first-"+c.ours, long)
		j.must(t, "done", "first", c.java, "unlock", "first-"+c.ours)
	}
	theirs, ours := make([]*call, len(cases)), make([][]*call, len(cases))
	for i, c := range cases {
		name := c.java + "-" + c.ours
		for _, g := range gs {
			for n := range goroutines {
				ours[i] = append(ours[i], g.start(fmt.Sprint(name, n), c.ours, "turns", c.key(name), span+2000, hold))
			}
		}
	}
	time.Sleep(time.Second) // ours are busy
	for i, c := range cases {
		name := c.java + "-" + c.ours
		theirs[i] = j.start(name, c.java, "turns", name, span, hold, pause)
	}
	// turns returns the number of turns and the longest wait.
	turns := func(c *call) (n, longest int) {
		words := strings.Fields(c.wait(t))
		if len(words) != 2 {
			t.Fatalf("%s: %q", c.text, c.result)
		}
		n, err := strconv.Atoi(words[0])
		if err == nil {
			longest, err = strconv.Atoi(words[1])
		}
		if err != nil {
			t.Fatalf("%s: %q", c.text, c.result)
		}
		return n, longest
	}
	rows := make([]row, len(cases))
	for i, c := range cases {
		n, longest := turns(theirs[i])
		sum, ourLongest := 0, 0
		for _, call := range ours[i] {
			n, l := turns(call)
			sum += n
			ourLongest = max(ourLongest, l)
		}
		rows[i] = row{c.theirs, labels[c.ours], fmt.Sprint(n, " turns"), fmt.Sprint(longest, " ms"), fmt.Sprint(sum, " turns"), fmt.Sprint(ourLongest, " ms")}
		if sum < goroutines {
			t.Errorf("%s, %s: ours had %d turns", c.theirs, c.ours, sum)
		}
		if fair := c.ours == "redislock.pollers" || c.ours == "redislock.both"; fair && n < 3 {
			t.Errorf("%s, %s: %d turns in %d ms", c.theirs, c.ours, n, span)
		}
	}
	section(t, "starvation", markdown(row{"theirs, one thread", "ours, 2 processes × 8 goroutines", "theirs", "its longest wait", "ours", "their longest wait"}, rows))
}
