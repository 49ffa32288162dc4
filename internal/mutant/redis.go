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
		Name: "owner-by-its-uuid",
		Rule: "a renewal only compares the random part of the owner",
		Edits: []Edit{{"backend/redislock/lua/renew.lua", "elseif not value or not holds(value, owner) then",
			"elseif not value or string.sub(value, 1, 36) ~= string.sub(owner, 1, 36) then"}},
		Package: "./backend/redislock", Test: "TestOwnersAreComparedAsAWhole",
	},
	{
		Name:    "renewals-pile-up",
		Rule:    "the number of renewals in progress for one server has no bound",
		Edits:   []Edit{{"backend/redislock/renew.go", "	maxRenewals = 4\n", "	maxRenewals = 1 << 20\n"}},
		Package: "./backend/redislock", Test: "TestVirtualRenewalsInProgress",
	},
	{
		Name: "renewals-wait-for-another-server",
		Rule: "the renewals in progress are counted for all servers together",
		Edits: []Edit{{"backend/redislock/renew.go", "	at := b.dispatcher.knownSite(grants[group[0]].Key)\n",
			"	at := b.dispatcher.defaultSite\n"}},
		Package: "./backend/redislock", Test: "TestVirtualSilentShardDelaysNoOther",
	},
	{
		Name:    "silence-is-not-told",
		Rule:    "queued requests do not end together with those in flight to a silent server",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/batcher.go", "		queued, b.queue = b.queue, nil\n", ""}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestSilentServer",
	},
	{
		Name:    "silence-puts-all-in-doubt",
		Rule:    "a server that does not answer gets full batches",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/batcher.go", "		n = 0\n", ""}},
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
		Name:    "dead-connection-blocks",
		Rule:    "a batch without an answer cannot be overtaken",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/batcher.go", "time.AfterFunc(b.lateAfter, ", "time.AfterFunc(b.cfg.Timeout, "}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestDeadConnectionOfAnAsynchronousBatch",
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
	{
		Name:    "load-is-distance",
		Rule:    "the estimate of the distance uses batches that wait for others",
		Edits:   []Edit{{"backend/redislock/internal/dispatch/distance.go", "	if !alone {\n", "	if false {\n"}},
		Package: "./backend/redislock/internal/dispatch", Test: "TestLimitFollowsAChangeUnderLoad",
	},
	{
		Name:    "broken-connection-is-no-doubt",
		Rule:    "an answer to a repeated request counts for the copy on a connection that broke, too",
		Edits:   []Edit{{"backend/redislock/dispatcher.go", "results[n].OutcomeKnown && fate != rediskit.Unknown", "fate != rediskit.Unknown"}},
		Package: "./backend/redislock", Test: "TestReleaseWithLostReplyIsNotALoss", Needs: "redis-server",
	},
	{
		Name: "waiting-is-evidence",
		Rule: "a value counts as a lock because a waiter waits for its key",
		Edits: []Edit{{"backend/redislock/lua/force_release.lua", "if value and not value_is_lock(",
			"if value and waiting == 0 and not value_is_lock("}},
		Package: "./backend/redislock", Test: "TestForceReleaseOfAnApplicationsValue",
	},
	{
		Name:    "one-spoils-all",
		Rule:    "a script that fails because of one key fails for all locks that share it",
		Edits:   []Edit{{"backend/redislock/dispatcher.go", "case len(batch) == 1 || isLine(err, \"\") || !redis.HasErrorPrefix(err, \"NOPERM\"):", "default:"}},
		Package: "./backend/redislock", Test: "TestBadKeyFailsAlone", Needs: "redis-server",
	},
	{
		Name: "timeout-hides-the-cause",
		Rule: "an operation that ends with the timeout does not give the reason",
		Edits: []Edit{{"backend/internal/rediskit/server.go", "	if found != nil {\n		err = fmt.Errorf(\"%w: %v\", err, found)",
			"	if false {\n		err = fmt.Errorf(\"%w: %v\", err, found)"}},
		Package: "./backend/redislock", Test: "TestOutageText", Needs: "redis-server",
	},
}
