package mutant

// redisServers has mutants of how the Redis backend handles owners and failing servers.
var redisServers = []mutant{
	inRedis("owner-by-its-beginning", "P1", "a renewal only compares the beginning of the owner", "TestOwnersAreComparedAsAWhole",
		edit{"backend/redislock/lua/renew.lua", "elseif not value or not holds(value, owner) then",
			"elseif not value or string.sub(value, 1, #owner) ~= owner then"}),
	inDispatch("silence-is-not-told", "P5", "queued requests do not end together with those in flight to a silent server", "TestSilentServer",
		edit{"backend/redislock/internal/dispatch/message.go", "		queued, b.queue = b.queue, nil\n", ""}),
	inDispatch("repetition-is-not-doubt", "P6", "the outcome of a request that was sent again counts as known", "TestRequestWithoutAnswerIsSentAgain",
		edit{"backend/redislock/internal/dispatch/message.go", "		r.OutcomeKnown = r.OutcomeKnown && !c.inDoubt\n", ""}),
	inDispatch("direct-without-repetition", "P6", "a request that must not be sent twice goes directly", "TestNotIdempotentIsSentOnce",
		edit{"backend/redislock/internal/dispatch/message.go", "b.directly() && !c.once", "b.directly()"}),
	inDispatch("taken-along-without-repetition", "P6", "a leader takes along a request that must not be sent twice", "TestNotIdempotentIsNotTakenAlong",
		edit{"backend/redislock/internal/dispatch/message.go", "; i >= 0 {\n			n = i", "; i >= 0 {\n			n = max(n, i)"}),
	inRedis("plain-not-undone", "P1", "a lock stays that plain commands took and a script refused to look at", "TestPlainUndone",
		edit{"backend/redislock/dispatcher.go", "			d.undo(ctx, s, r)\n", ""}),
}

var inDispatch = in("./backend/redislock/internal/dispatch")
