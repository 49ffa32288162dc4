package zklock_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

const guid = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11"

// kinds are what the nodes of a queue can ask for: x is an exclusive lock, w is Curator's
// write lock, r is a reader, and a digit is the number of permits.
var kinds = map[rune]struct {
	tag     string
	sharing driver.Sharing
}{
	'x': {tag: "lock-"},
	'w': {tag: "__WRIT__"},
	'r': {"__READ__", driver.Sharing{Mode: driver.Shared}},
	'1': {"__PERMIT1__", driver.Sharing{Permits: 1}},
	'2': {"__PERMIT2__", driver.Sharing{Permits: 2}},
	'3': {"__PERMIT3__", driver.Sharing{Permits: 3}},
}

// namesOf returns the names of the nodes in a queue of these kinds.
func namesOf(queue string) (names []string) {
	for i, k := range queue {
		names = append(names, fmt.Sprintf("_c_%s-%s%010d", guid, kinds[k].tag, i+7))
	}
	return names
}

func TestBlockers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		queue string
		i     int
		want  []int
	}{
		{"x", 0, nil},
		{"xx", 1, []int{0}},
		{"xxxx", 3, []int{2}}, // only the predecessor
		{"rrr", 2, nil},
		{"rrx", 2, []int{1}},
		{"rxr", 2, []int{1}},
		{"xrrr", 3, []int{0}}, // not the reader before it
		{"rwrwrr", 5, []int{3}},
		{"wrx", 2, []int{1}},
		{"3", 0, nil},
		{"333", 2, nil},
		{"3333", 3, []int{0, 1, 2}},
		{"33333", 4, []int{1, 2, 3}},
		{"22233", 4, []int{1, 2, 3}},
		{"x3", 1, []int{0}},
		{"x33", 2, []int{0}},
		{"x222", 3, []int{1, 2}}, // when the lock goes, this one still has to wait
		{"3x33", 3, []int{1}},
		{"33x", 2, []int{1}},
		{"3r", 1, []int{0}},
		{"r3", 1, []int{0}},
		{"1r1", 2, []int{1}},
	} {
		names := namesOf(c.queue)
		var want []string
		for _, j := range c.want {
			want = append(want, names[j])
		}
		got, err := zklock.Blockers(names, c.i)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("node %d in %s waits for %q, %v; want %q", c.i, c.queue, got, err, want)
		}
	}
}

// admits reports whether the last node of a queue may join the others, as driver.Sharing
// defines it, if all of them have the key.
func admits(queue string) bool {
	last := len(queue) - 1
	for _, k := range queue[:last] {
		if !kinds[k].sharing.Admits(last, kinds[rune(queue[last])].sharing) {
			return false
		}
	}
	return true
}

// TestQueueFollowsSharing compares the rule for nodes with driver.Sharing.Admits, for all
// queues of up to five nodes.
func TestQueueFollowsSharing(t *testing.T) {
	t.Parallel()
	var try func(queue string)
	try = func(queue string) {
		if t.Failed() {
			return
		}
		if queue != "" {
			checkLast(t, queue)
			checkHolders(t, queue)
		}
		for k := range kinds {
			if len(queue) < 5 {
				try(queue + string(k))
			}
		}
	}
	try("")
}

// checkLast checks what the last node of a queue waits for.
func checkLast(t *testing.T, queue string) {
	t.Helper()
	last, names := len(queue)-1, namesOf(queue)
	blockers, err := zklock.Blockers(names, last)
	if err != nil {
		t.Fatal(err)
	}
	if admits(queue) != (len(blockers) == 0) {
		t.Errorf("the last of %s waits for %q, and Admits says %v", queue, blockers, admits(queue))
	}
	var left string // what is left of the queue when all but the blockers have gone
	for _, name := range blockers {
		left += queue[slices.Index(names, name):][:1]
	}
	for i := range left {
		if admits(left + queue[last:]) {
			t.Errorf("the last of %s waits for %s, which admits it", queue, left)
		}
		if rest := left[:i] + left[i+1:]; !admits(rest + queue[last:]) {
			t.Errorf("the last of %s waits for %s, and %s is enough to stop it", queue, left, rest)
		}
	}
}

// checkHolders checks which nodes have the key: those that wait for nothing, and each may
// join those in front of it.
func checkHolders(t *testing.T, queue string) {
	t.Helper()
	names := namesOf(queue)
	_, holders, err := zklock.Queue(names)
	if err != nil {
		t.Fatal(err)
	}
	var holding string
	for i, name := range names {
		held := slices.Contains(holders, name)
		if held != admits(queue[:i+1]) {
			t.Errorf("%s: node %d has the key: %v", queue, i, held)
		}
		if held {
			holding += queue[i : i+1]
			if !admits(holding) {
				t.Errorf("%s: %s have the key together", queue, holding)
			}
		}
	}
}

func TestOrderOfNodes(t *testing.T) {
	t.Parallel()
	names := []string{
		"_c_ffffffff-7c1e-4e59-8a86-7d1d1a4b7c11-lock-0000000003",
		"_c_00000000-7c1e-4e59-8a86-7d1d1a4b7c11-__WRIT__0000000010",
		"_c_9f0a3c527c1e4e598a867d1d1a4b7c11-lock-0000000001", // the client library's
		"lock-0000000002", // Curator's, unprotected
		"_c_aaaaaaaa-7c1e-4e59-8a86-7d1d1a4b7c11-__READ__0000000004",
		"locks", "leases", "lock-", "lock-x000000001", "_c_", "", "keep",
		"_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-__PERMIT0__0000000001",
		"_c_9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11-__PERMITx__0000000001",
	}
	want := []string{names[2], names[3], names[0], names[4], names[1]}
	got, holders, err := zklock.Queue(names)
	if err != nil || !slices.Equal(got, want) || !slices.Equal(holders, want[:1]) {
		t.Errorf("%q, %q, %v; want %q, and the first has the key", got, holders, err, want)
	}
	for queue, want := range map[string]int{"": 0, "xx": 1, "rrr": 3, "rrxr": 2, "xrr": 1, "2222": 2, "22x": 2, "32": 2} {
		if _, holders, err := zklock.Queue(namesOf(queue)); err != nil || !slices.Equal(holders, namesOf(queue)[:want]) {
			t.Errorf("of %s, %q have the key, %v; want the first %d", queue, holders, err, want)
		}
	}
	for _, number := range []string{"-2147483648", "-0000000001", "2147483647"} {
		if _, _, err := zklock.Queue([]string{"_c_" + guid + "-lock-" + number}); err == nil {
			t.Errorf("the number %s is accepted", number)
		}
	}
}
