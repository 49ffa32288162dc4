package mutant

// quorum has mutants of the rule of sharing in package driver, of redlock, and of how both
// backends on Redis send commands.
var quorum = []mutant{
	{
		Name:    "permits-of-the-holders",
		Rule:    "a semaphore counts by the permits of its holders, and not by those of the request",
		Edits:   []edit{{"driver/sharing.go", "return n < o.Permits", "return n < s.Permits"}},
		Package: "./driver", Test: "TestAdmits",
	},
	{
		Name: "reader-beside-writer",
		Rule: "a reader gets a key that a writer holds",
		Edits: []edit{{"driver/sharing.go", "return s.Mode == Shared && o.Mode == Shared",
			"return o.Mode == Shared"}},
		Package: "./driver", Test: "TestAdmits",
	},
	inRedlock("quorum-of-one", "one node is enough for a lock", "TestVirtualHalfTaken",
		edit{"backend/redlock/attempt.go", "case votes >= a.b.quorum:", "case votes >= 1:"}),
	inRedlock("release-of-another-on-a-node", "a release on a node does not check the owner", "TestConformanceVirtual/tokens/release/others",
		edit{"backend/redlock/lua/release.lua", "local mine = generation_of(current, owner)", "local mine = current and 0"}),
	{
		Name:    "decided-and-not-told",
		Rule:    "when the context ends, renewals that are decided are reported as unknown",
		Edits:   []edit{{"backend/redlock/renewal.go", "for len(v.decided) > 0 {", "for false {"}},
		Package: "./backend/redlock", Test: "TestVirtualRenewReportsWhatIsDecided",
	},
	{
		Name:    "repetition-is-no-doubt",
		Rule:    "an attempt that was repeated is not in doubt, and arrives late at a free key",
		Edits:   []edit{{"backend/redlock/node.go", "r.doubt = true", "r.doubt = false"}},
		Package: "./backend/redlock", Test: "TestVirtualRepeatedAttemptArrivesLate",
	},
	{
		Name:    "repeated-unseen",
		Rule:    "go-redis repeats scripts by itself",
		Edits:   []edit{{"backend/internal/rediskit/cmd.go", "NoRetry() bool { return true }", "NoRetry() bool { return false }"}},
		Package: "./backend/internal/rediskit", Test: "TestCmdIsSentOnce",
	},
}
