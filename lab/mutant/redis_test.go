package mutant

// redisServers has mutants of how the Redis backend handles owners and failing servers.
var redisServers = []mutant{
	{
		Name: "owner-by-its-beginning",
		Rule: "a renewal only compares the beginning of the owner",
		Edits: []edit{{"backend/redislock/lua/renew.lua", "elseif not value or not holds(value, owner) then",
			"elseif not value or string.sub(value, 1, #owner) ~= owner then"}},
		Package: "./backend/redislock", Test: "TestOwnersAreComparedAsAWhole",
	},
	{
		Name:    "silence-is-not-told",
		Rule:    "queued requests do not end together with those in flight to a silent server",
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "		queued, b.queue = b.queue, nil\n", ""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestSilentServer",
	},
	{
		Name:    "repetition-is-not-doubt",
		Rule:    "the outcome of a request that was sent again counts as known",
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "		r.OutcomeKnown = r.OutcomeKnown && !c.inDoubt\n", ""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestRequestWithoutAnswerIsSentAgain",
	},
	{
		Name:    "direct-without-repetition",
		Rule:    "a request that must not be sent twice goes directly",
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "b.directly() && !c.once", "b.directly()"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestNotIdempotentIsSentOnce",
	},
	{
		Name:    "taken-along-without-repetition",
		Rule:    "a leader takes along a request that must not be sent twice",
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "; i >= 0 {\n			n = i", "; i >= 0 {\n			n = max(n, i)"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestNotIdempotentIsNotTakenAlong",
	},
	{
		Name:    "plain-not-undone",
		Rule:    "a lock stays that plain commands took and a script refused to look at",
		Edits:   []edit{{"backend/redislock/dispatcher.go", "			d.undo(ctx, s, r)\n", ""}},
		Package: "./backend/redislock", Test: "TestPlainUndone",
	},
}
