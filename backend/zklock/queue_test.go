package zklock_test

import (
	"slices"
	"testing"

	"github.com/distlock-go/distlock/backend/zklock"
)

const guid = "9f0a3c52-7c1e-4e59-8a86-7d1d1a4b7c11"

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
	for _, number := range []string{"-2147483648", "-0000000001", "2147483647"} {
		if _, _, err := zklock.Queue([]string{"_c_" + guid + "-lock-" + number}); err == nil {
			t.Errorf("the number %s is accepted", number)
		}
	}
}
