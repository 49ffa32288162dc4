package mutant

// redisServers has mutants of how the Redis backend handles owners and failing servers.
var redisServers = []Mutant{
	{
		Name: "owner-by-its-beginning",
		Rule: "a renewal only compares the beginning of the owner",
		Edits: []Edit{{"backend/redislock/lua/renew.lua", "elseif not value or not holds(value, owner) then",
			"elseif not value or string.sub(value, 1, #owner) ~= owner then"}},
		Package: "./backend/redislock", Test: "TestOwnersAreComparedAsAWhole",
	},
	{
		Name:    "silence-is-not-told",
		Rule:    "queued requests do not end together with those in flight to a silent server",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/batcher.go", "		queued, b.queue = b.queue, nil\n", ""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestSilentServer",
	},
	{
		Name: "leader-leaves-silently",
		Rule: "a caller that leaves instead of sending the queued requests does not wake another",
		Edits: []Edit{{"backend/redislock/internal/dispatch/batcher.go", "		b.start(leader, next) // another caller must send the queued requests\n",
			"		_, _ = leader, next\n"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestLeaderThatLeavesIsFollowed",
	},
	{
		Name: "repetition-is-not-doubt",
		Rule: "the outcome of a request that was sent again counts as known",
		Edits: []Edit{{"backend/redislock/internal/dispatch/batcher.go", "			r.OutcomeKnown = r.OutcomeKnown && !c.inDoubt\n",
			""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestRequestWithoutAnswerIsSentAgain",
	},
	{
		Name:    "inline-without-repetition",
		Rule:    "a request that must not be sent twice is sent inline",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/call.go", "	t.inline = t.inline && c.idempotent\n", ""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestNotIdempotentIsSentOnce",
	},
}
