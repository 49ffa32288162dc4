// Package torture puts a backend through a seeded plan of faults and checks what
// its holders saw against what the kit promises. It consists of tests alone:
//
//	DISTLOCK_TEST_LONG=1 go test ./internal/proof/torture -run Torture -v -seed 7 -dur 60s -backend redislock
//
// Child processes, which are the test binary again, have workers that take a few
// keys, use a register that checks fencing tokens, and give the keys back: one key,
// or a set that is all or nothing; alone, as readers, or with permits; some keep them
// for MinHold, some lead for a term or two. Meanwhile processes, servers and
// connections are stopped, killed, cut. Then the faults end, and every worker must get
// every key, and all keys together. Each process keeps a journal. The checks run on the
// merged history at the end.
//
// The seed fixes the plan of faults. It does not fix the history: who comes first
// is up to the machine.
package torture
