package mutant

// quorum has mutants of the rule of sharing in package driver, and of the renewals of redlock.
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
}
