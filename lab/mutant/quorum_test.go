package mutant

// quorum has mutants of the rule of sharing in package driver, of redlock and its messages that a
// key is free, and of how both backends on Redis send commands.
var quorum = []mutant{
	inDriver("permits-of-the-holders", "P1", "a semaphore counts by the permits of its holders, and not by those of the request", "TestAdmits",
		edit{"driver/driver.go", "return n < o.Permits", "return n < s.Permits"}),
	inDriver("reader-beside-writer", "P1", "a reader gets a key that a writer holds", "TestAdmits",
		edit{"driver/driver.go", "return s.Mode == Shared && o.Mode == Shared", "return o.Mode == Shared"}),
	inRedlock("quorum-of-one", "P1", "one node is enough for a lock", "TestVirtualHalfTaken",
		edit{"backend/redlock/attempt.go", "case votes >= a.b.quorum:", "case votes >= 1:"}),
	inRedlock("release-of-another-on-a-node", "P6", "a release on a node does not check the owner", "TestConformanceVirtual/tokens/release/others",
		edit{"backend/redlock/lua/release.lua", "local mine = generation_of(current, owner)", "local mine = current and 0"}),
	inRedlock("decided-and-not-told", "P2", "when the context ends, renewals that are decided are reported as unknown", "TestVirtualRenewReportsWhatIsDecided",
		edit{"backend/redlock/renewal.go", "		r := <-v.results\n", "		r := <-v.results\n		if ctx.Err() != nil {\n			r.err = ctx.Err()\n		}\n"}),
	inRedlock("repetition-is-no-doubt", "P1", "an attempt that was repeated is not in doubt, and arrives late at a free key", "TestVirtualRepeatedAttemptArrivesLate",
		edit{"backend/redlock/node.go", "r.doubt = true", "r.doubt = false"}),
	inRediskit("repeated-unseen", "P6", "go-redis repeats scripts by itself", "TestCmdIsSentOnce",
		edit{"backend/internal/rediskit/cmd.go", "NoRetry() bool { return true }", "NoRetry() bool { return false }"}),
	inRedlock("interruption-unnoticed", "P5", "a watch that was interrupted does not begin again", "TestConformanceVirtual/tokens/network/interrupted-watch",
		edit{"backend/redlock/watch.go", "if n == w.quorum || n > w.quorum && again {", "if n == w.quorum && !again {"}),
}

var (
	inDriver   = in("./driver")
	inRediskit = in("./backend/internal/rediskit")
	inRedlock  = in("./backend/redlock")
)
