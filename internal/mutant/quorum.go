package mutant

// quorum has mutants of the rule of sharing in package driver, of redlock, and of how both
// backends on Redis send commands.
var quorum = []Mutant{
	{
		Name:    "permits-of-the-holders",
		Rule:    "a semaphore counts by the permits of its holders, and not by those of the request",
		Edits:   []Edit{{"driver/sharing.go", "return n < o.Permits", "return n < s.Permits"}},
		Package: "./driver", Test: "TestAdmits",
	},
	{
		Name: "reader-beside-writer",
		Rule: "a reader gets a key that a writer holds",
		Edits: []Edit{{"driver/sharing.go", "return s.Mode == Shared && o.Mode == Shared",
			"return o.Mode == Shared"}},
		Package: "./backend/memlock", Test: "TestConformance/shared/writer-alone",
	},
	{
		Name: "renewals-told-at-the-end",
		Rule: "a renewal that is decided is reported only when all are",
		Edits: []Edit{{"backend/redlock/renewal.go", "			report(d.index, d.result)\n			reported[d.index] = true\n		case <-ctx.Done():",
			"			defer report(d.index, d.result)\n			reported[d.index] = true\n		case <-ctx.Done():"}},
		Package: "./backend/redlock", Test: "TestVirtualRenewReportsAtOnce",
	},
	{
		Name:    "decided-and-not-told",
		Rule:    "when the context ends, renewals that are decided are reported as unknown",
		Edits:   []Edit{{"backend/redlock/renewal.go", "for len(v.decided) > 0 {", "for false {"}},
		Package: "./backend/redlock", Test: "TestVirtualRenewReportsWhatIsDecided",
	},
	{
		Name:    "repetition-is-no-doubt",
		Rule:    "an attempt that was repeated is not in doubt, and arrives late at a free key",
		Edits:   []Edit{{"backend/redlock/node.go", "r.doubt = true", "r.doubt = false"}},
		Package: "./backend/redlock", Test: "TestRepeatedAttemptArrivesLate",
	},
	{
		Name: "own-release-is-a-loss",
		Rule: "a release that was repeated, and finds its own effect, is a loss",
		Edits: []Edit{{"backend/redlock/releasecount.go", "case found == foundMine, !known:",
			"case found == foundMine:"}},
		Package: "./backend/redlock", Test: "TestRepeatedReleaseIsNoLoss",
	},
	{
		Name:    "renewals-beside-the-application",
		Rule:    "renewals and releases wait for connections that the application has in use",
		Edits:   []Edit{{"backend/redlock/node.go", "sendOver(ctx, n, n.own.Client, limit", "sendOver(ctx, n, n.client, limit"}},
		Package: "./backend/redlock", Test: "TestApplicationUsesUpItsConnections",
	},
	{
		Name:    "repeated-unseen",
		Rule:    "go-redis repeats scripts by itself",
		Edits:   []Edit{{"backend/internal/rediskit/cmd.go", "NoRetry() bool { return true }", "NoRetry() bool { return false }"}},
		Package: "./backend/internal/rediskit", Test: "TestCmdIsSentOnce",
	},
	{
		Name: "master-of-yesterday",
		Rule: "connections to a master that the Sentinels have replaced are used as long as they live",
		Edits: []Edit{{"backend/internal/rediskit/ownpool.go", "o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = chosenFor, 0",
			"o.ConnMaxLifetime, o.ConnMaxLifetimeJitter = 0, 0"}},
		Package: "./backend/internal/rediskit", Test: "TestOwnPoolSentinel",
	},
}
