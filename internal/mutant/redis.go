package mutant

// redisServers has mutants of how the Redis backend handles owners and failing servers.
var redisServers = []Mutant{
	{
		Name: "owner-by-its-beginning",
		Rule: "a renewal only compares the beginning of the owner",
		Edits: []Edit{{"backend/redislock/renew.lua", "if current == ARGV[2 * i - 1] then",
			"if type(current) == 'string' and string.sub(current, 1, #ARGV[2 * i - 1]) == ARGV[2 * i - 1] then"}},
		Package: "./backend/redislock", Test: "TestOwnersAreComparedAsAWhole",
	},
	{
		Name: "owner-by-its-uuid",
		Rule: "a renewal only compares the random part of the owner",
		Edits: []Edit{{"backend/redislock/renew.lua", "if current == ARGV[2 * i - 1] then",
			"if type(current) == 'string' and string.sub(current, 1, 36) == string.sub(ARGV[2 * i - 1], 1, 36) then"}},
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
		Edits: []Edit{{"backend/redislock/renew.go", "	at := b.dispatcher.knownBatcher(grants[group[0]].Key)\n",
			"	at := b.dispatcher.defaultBatcher\n"}},
		Package: "./backend/redislock", Test: "TestVirtualSilentShardDelaysNoOther",
	},
	{
		Name:    "silence-is-not-told",
		Rule:    "queued operations are still sent to a silent server, one after the other",
		Edits:   []Edit{{"backend/redislock/batcher.go", "		b.failQueued()\n", ""}},
		Package: "./backend/redislock", Test: "TestVirtualSilentServerEndsTheQueue",
	},
	{
		Name:    "runner-leaves-silently",
		Rule:    "a caller that leaves instead of sending the queued operations does not wake another",
		Edits:   []Edit{{"backend/redislock/batcher.go", "	if was == stateRunner {\n		b.finishBatch(0) // another caller must send the queued operations\n	}\n", ""}},
		Package: "./backend/redislock", Test: "TestRunnerThatLeavesIsFollowed",
	},
	{
		Name: "waiting-is-evidence",
		Rule: "a value counts as a lock because a waiter waits for its key",
		Edits: []Edit{{"backend/redislock/force_release.lua", "if not kind and not is_lock(",
			"if not kind and not waited and not is_lock("}},
		Package: "./backend/redislock", Test: "TestForceReleaseOfAnApplicationsValue",
	},
	{
		Name:    "one-spoils-all",
		Rule:    "a script that fails because of one key fails for all locks that share it",
		Edits:   []Edit{{"backend/redislock/dispatcher.go", "} else if !isOfOneKey(answers[i].err) {", "} else {"}},
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
