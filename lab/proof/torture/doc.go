// Package torture runs a backend under a seeded plan of faults, and checks the history
// of its holders against the promises of this module. It contains only tests:
//
//	DISTLOCK_TEST_LONG=1 go test ./lab/proof/torture -run Torture -v -seed 7 -dur 60s -backend redislock
//
// Child processes run the test binary again. Their workers acquire keys, use a register
// that checks fencing tokens, and release the keys: one key or a set, exclusively, as
// readers or with permits, some with MinHold and some as leaders. Meanwhile processes,
// servers and connections are stopped, killed and cut. Then the faults end, and every
// worker must get every key, and all keys together. Each process writes a journal, and
// the checks run on the merged history at the end.
//
// The seed determines the plan of faults, but not the history: the order of the workers
// depends on the machine.
//
// TestSimulate is the same in virtual time, for redislock on a simulated Redis: the processes are
// in one bubble. The command lab/simulate runs it so that the seed determines the history, too.
package torture
