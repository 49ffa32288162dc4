package mutant

// store has mutants of the requests of the Redis backend to its server.
var store = []mutant{
	{
		Name: "incr-tokens",
		Rule: "tokens come from INCR: after the loss of the counter they start again",
		Edits: []edit{
			{"backend/redislock/lua/acquire_fast.lua", "local token = string.format('%016.0f', t[1] * 1000000 + t[2])",
				"local token = string.format('%016.0f', t[1] * 0 + 1 + (call('GET', KEYS[#KEYS]) or 0))"},
		},
		Package: "./backend/redislock", Test: "TestScriptTokensAfterLoss",
	},
	{
		Name:    "release-of-another",
		Rule:    "a release does not check the owner",
		Edits:   []edit{{"backend/redislock/lua/release.lua", "mine = value and holds(value, owner)", "mine = value ~= nil"}},
		Package: "./backend/redislock", Test: "TestConformanceVirtual/release/others",
	},
	{
		Name: "renewal-recreates",
		Rule: "a renewal creates a key that is gone",
		Edits: []edit{{"backend/redislock/lua/renew.lua", "    elseif not value or not holds(value, owner) then\n",
			"    elseif not value then\n      redis.call('SET', lock, owner .. ' 1', 'PX', ttl)\n      return '1'\n    elseif not holds(value, owner) then\n"}},
		Package: "./backend/redislock", Test: "TestScriptRenew",
	},
	{
		Name: "publish-before-write",
		Rule: "a script sends a message before its first write, which can be refused",
		Edits: []edit{{"backend/redislock/lua/acquire.lua", "    if mode == 'enqueue' then\n      enqueue(queue, entry)",
			"    if mode == 'enqueue' then\n      redis.call('PUBLISH', ARGV[3] .. ARGV[1], owner)\n      enqueue(queue, entry)"}},
		Package: "./backend/redislock", Test: "TestScriptOutOfMemory", Needs: "redis-server",
	},
	{
		Name: "grant-before-the-queue",
		Rule: "a grant to a waiter begins with a write that a full server refuses",
		Edits: []edit{{"backend/redislock/lua/includes/queue.lua", "    redis.call('ZREM', queue, entry)\n    local token = issue(before)\n",
			"    local token = issue(before)\n    redis.call('ZREM', queue, entry)\n"}},
		Package: "./backend/redislock", Test: "TestScriptOutOfMemory", Needs: "redis-server",
	},
	{
		Name:    "token-concatenated",
		Rule:    "a token becomes text by .. and not by string.format",
		Edits:   []edit{{"backend/redislock/lua/includes/time.lua", "token = string.format('%016.0f', before + 1)", "token = before + 1 .. ''"}},
		Package: "./backend/redislock", Test: "TestScriptClockSetBack", Needs: "redis-server",
	},
	{
		Name: "set-nx-retried",
		Rule: "a repeated attempt waits for itself",
		Edits: []edit{{"backend/redislock/lua/acquire.lua", "if kind == 'x' and share == '' and holds(value, owner) then",
			"if kind == 'x' and share == '' and mode == 'extend' and holds(value, owner) then"}},
		Package: "./backend/redislock", Test: "TestScriptLateAttempt",
	},
	{
		Name:    "plain-in-doubt",
		Rule:    "an owner with an attempt in doubt takes the lock with plain commands",
		Edits:   []edit{{"backend/redislock/acquire.go", ` && b.inDoubt.Of(r.Owner) == 0`, ``}},
		Package: "./backend/redislock", Test: "TestPlainInDoubt",
	},
	{
		Name:    "plain-clock-lags",
		Rule:    "plain attempts add to a clock that was not set for long",
		Edits:   []edit{{"backend/redislock/plain.go", "clock.Elapsed(reading.at, time.Now()) <= clockLag", "clock.Elapsed(reading.at, time.Now()) <= 1000*clockLag"}},
		Package: "./backend/redislock", Test: "TestPlainClockLag",
	},
	{
		Name:    "clock-set-back",
		Rule:    "the time is issued as a token although the clock was set back",
		Edits:   []edit{{"backend/redislock/lua/includes/time.lua", "  if before >= token then", "  if before == token then"}},
		Package: "./backend/redislock", Test: "TestScriptClockSetBack",
	},
	{
		Name:    "tombstone-ignored-fast",
		Rule:    "the prefix grants a lock to an owner that has released it",
		Edits:   []edit{{"backend/redislock/lua/acquire_fast.lua", "call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0", "call('EXISTS', KEYS[n + i]) == 0"}},
		Package: "./backend/redislock", Test: "TestScriptTombstone",
	},
	{
		Name:    "tombstone-ignored",
		Rule:    "a late attempt takes the lock for an owner that has released it",
		Edits:   []edit{{"backend/redislock/lua/acquire.lua", "  if refused and not mine then", "  if refused and mine then"}},
		Package: "./backend/redislock", Test: "TestScriptTombstone",
	},
	{
		Name:    "tombstone-not-written",
		Rule:    "a release writes no tombstone for an owner in doubt",
		Edits:   []edit{{"backend/redislock/lua/release.lua", "    pcall(add_tombstone, gone, owner) --", "    --"}},
		Package: "./backend/redislock", Test: "TestScriptTombstone",
	},
	{
		Name: "late-attempt-shortens",
		Rule: "an attempt that arrives late shortens the lease",
		Edits: []edit{{"backend/redislock/lua/acquire.lua", "  if left < tonumber(ttl) then",
			"  if true then"}},
		Package: "./backend/redislock", Test: "TestScriptLateAttempt",
	},
	{
		Name: "points-in-time",
		Rule: "a lease is a point in time by the client's clock",
		Edits: []edit{{"backend/redislock/lua/acquire.lua", "redis.call('SET', lock, owner .. ' ' .. tokens[2], 'PX', ttl)",
			"redis.call('SET', lock, owner .. ' ' .. tokens[2], 'PXAT', ttl)"}},
		Package: "./backend/redislock", Test: "TestScriptsUseNoPointsInTime",
	},
}

// process has mutants of the state in one process.
var process = []mutant{
	{
		Name:    "deadline-from-the-reply",
		Rule:    "a lease counts from the reply",
		Edits:   []edit{{"acquire.go", "if clock.Elapsed(leasestate.Start(g), now) >= clock.SafeTTL(g.TTL) {", "if clock.SafeTTL(g.TTL) <= 0 {"}},
		Package: ".", Test: "TestReplyAfterTheLeaseIsNoLock",
	},
	{
		Name:    "monotonic-clock-only",
		Rule:    "only the clock that stands still during a suspension is read",
		Edits:   []edit{{"internal/clock/clock.go", "return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))", "return now.Sub(since)"}},
		Package: ".", Test: "TestSuspendEndsTheLeases",
	},
	{
		Name: "unwatched-after-the-release",
		Rule: "the watchdog drops a lease only after its release was sent",
		Edits: []edit{
			{"release.go", "	l.watchdog.remove(lease.state)\n	if over", "	defer l.watchdog.remove(lease.state)\n	if over"},
		},
		Package: ".", Test: "TestReleaseIsSentAfterTheWatchEnds",
	},
	{
		Name:    "gate-opened-at-loss",
		Rule:    "the next caller in the process may enter while the function that lost the key still runs",
		Edits:   []edit{{"lease.go", "	if h := s.locker.cfg.Hooks.Lost; h != nil {", "	s.locker.queue.Exit(s.Key(), false)\n	if h := s.locker.cfg.Hooks.Lost; h != nil {"}},
		Package: ".", Test: "TestGateStaysShutAfterLoss",
	},
}

// waiting has mutants of the waits of the Redis backend.
var waiting = []mutant{
	{
		Name:    "no-poll",
		Rule:    "waiters do not poll, and only react to messages",
		Edits:   []edit{{"backend/redislock/acquire.go", "	case <-t.C:\n		return message{}, nil\n", ""}},
		Package: "./backend/redislock", Test: "TestVirtualDeadHolder",
	},
	{
		Name: "skipped-as-nobody-heard",
		Rule: "a waiter loses its turn if its message has no receiver",
		Edits: []edit{{"backend/redislock/lua/includes/queue.lua", "    redis.call('PUBLISH', m[1], m[2])",
			"    if redis.call('PUBLISH', m[1], m[2]) == 0 then\n      redis.call('DEL', KEYS[1])\n    end"}},
		Package: "./backend/redislock", Test: "TestScriptNobodyHears",
	},
}

// zooKeeper has mutants of the ZooKeeper backend.
var zooKeeper = []mutant{
	{
		Name: "sequence-as-token",
		Rule: "a token is the number in a node's name, which starts again with a new parent",
		Edits: []edit{{"backend/zklock/acquire.go", "placequeue.Tokens(p.createZxid, tokensPerID, r.Tokens)",
			"placequeue.Tokens(func() int64 { n, _ := parseNode(tk.name()); return n.seq + 1 }(), tokensPerID, r.Tokens)"}},
		Package: "./backend/zklock", Test: "TestContainersComeAndGo", Needs: "zookeeper",
	},
	{
		Name: "whose-node-is-not-asked",
		Rule: "a node with the name is the lock, independent of the session that created it",
		Edits: []edit{
			{"backend/zklock/renew.go", "exists := stat.EphemeralOwner == r.Store.id", "exists := stat.Czxid != 0"},
		},
		Package: "./backend/zklock", Test: "TestNodeOfAnotherSession",
	},
	{
		Name:    "stranger-is-not-refused",
		Rule:    "a key is granted although a lock of Curator is there that does not see it",
		Edits:   []edit{{"backend/zklock/acquire.go", "case p.stranger != nil:", "case false:"}},
		Package: "./backend/zklock", Test: "TestStrangers", Needs: "zookeeper",
	},
	{
		Name:    "stranger-is-not-noticed",
		Rule:    "a key is kept although a lock of Curator has come that does not see it",
		Edits:   []edit{{"backend/zklock/renew.go", "case other != nil:", "case false:"}},
		Package: "./backend/zklock", Test: "TestStrangers", Needs: "zookeeper",
	},
}
