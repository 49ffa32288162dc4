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
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "		queued, b.queue = slices.Clone(b.queue[n:]), b.queue[:n]\n", "		_ = n\n"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestSilentServer",
	},
	{
		Name: "repetition-is-not-doubt",
		Rule: "the outcome of a request that was sent again counts as known",
		Edits: []edit{{"backend/redislock/internal/dispatch/batcher.go", "	r.OutcomeKnown = r.OutcomeKnown && !inDoubt\n",
			"	_ = inDoubt\n"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestRequestWithoutAnswerIsSentAgain",
	},
	{
		Name:    "direct-without-repetition",
		Rule:    "a request that must not be sent twice goes directly",
		Edits:   []edit{{"backend/redislock/internal/dispatch/batcher.go", "	if idempotent && b.cfg", "	if b.cfg"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestNotIdempotentIsSentOnce",
	},
}
