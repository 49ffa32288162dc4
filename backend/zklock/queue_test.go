package zklock_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
	"github.com/distlock-go/distlock/driver"
)

const guid = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11"

// kinds are what the nodes of a queue can ask for: x is an exclusive lock, w is
// Curator's write lock, r is a reader, and a digit is the number of permits.
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
