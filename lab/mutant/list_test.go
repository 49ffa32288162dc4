package mutant

// store has mutants of the requests of the Redis backend to its server.
var store = []mutant{
	inRedis("incr-tokens", "P3", "tokens come from INCR: after the loss of the counter they start again", "TestScriptTokensAfterLoss",
		edit{"backend/redislock/lua/acquire_fast.lua", "local token = time()",
			"local token = string.format('%016.0f', 1 + (call('GET', KEYS[#KEYS]) or 0))"}),
	inRedis("release-of-another", "P6", "a release does not check the owner", "TestConformanceVirtual/release/others",
		edit{"backend/redislock/lua/release.lua", "mine = value and holds(value, owner)", "mine = value ~= nil"}),
	inRedis("renewal-recreates", "P1", "a renewal creates a key that is gone", "TestConformanceVirtual/renewal/never-recreates",
		edit{"backend/redislock/lua/renew.lua", "    elseif not value or not holds(value, owner) then\n",
			"    elseif not value then\n      redis.call('SET', lock, owner .. ' 1', 'PX', ttl)\n      return '1'\n    elseif not holds(value, owner) then\n"}),
	inRedis("publish-before-write", "P1", "a script sends a message before its first write, which can be refused", "TestScriptOutOfMemory",
		edit{"backend/redislock/lua/acquire.lua", "    if mode == 'enqueue' then\n      enqueue(queue, entry)",
			"    if mode == 'enqueue' then\n      redis.call('PUBLISH', ARGV[3] .. ARGV[1], owner)\n      enqueue(queue, entry)"}).on("redis-server"),
	inRedis("grant-before-the-queue", "P5", "a grant to a waiter begins with a write that a full server refuses", "TestScriptOutOfMemory",
		edit{"backend/redislock/lua/includes/queue.lua", "    redis.call('ZREM', queue, entry)\n    local token = issue(before)\n",
			"    local token = issue(before)\n    redis.call('ZREM', queue, entry)\n"}).on("redis-server"),
	inRedis("token-concatenated", "P3", "a token becomes text by .. and not by string.format", "TestScriptClockSetBack",
		edit{"backend/redislock/lua/includes/time.lua", "token = string.format('%016.0f', before + 1)", "token = before + 1 .. ''"}).on("redis-server"),
	inRedis("set-nx-retried", "P5", "a repeated attempt waits for itself", "TestConformanceVirtual/idempotence/same-owner-again",
		edit{"backend/redislock/lua/acquire.lua", "if kind == 'x' and share == '' and holds(value, owner) then",
			"if kind == 'x' and share == '' and mode == 'extend' and holds(value, owner) then"}),
	inRedis("plain-in-doubt", "P1", "an owner with an attempt in doubt takes the lock with plain commands", "TestPlainInDoubt",
		edit{"backend/redislock/acquire.go", ` && b.inDoubt.Of(r.Owner) == 0`, ``}),
	inRedis("plain-clock-lags", "P3", "plain attempts add to a clock that was not set for long", "TestPlainClockLag",
		edit{"backend/redislock/plain.go", "clock.Elapsed(reading.at, time.Now()) <= clockLag", "clock.Elapsed(reading.at, time.Now()) <= 1000*clockLag"}),
	inRedis("clock-set-back", "P3", "the time is issued as a token although the clock was set back", "TestScriptClockSetBack",
		edit{"backend/redislock/lua/includes/time.lua", "  if before >= token then", "  if before == token then"}),
	inRedis("tombstone-ignored-fast", "P1", "the fast part grants a lock to an owner that has released it", "TestScriptTombstone",
		edit{"backend/redislock/lua/acquire_fast.lua", "call('EXISTS', KEYS[n + i], KEYS[2 * n + i]) == 0", "call('EXISTS', KEYS[n + i]) == 0"}),
	inRedis("tombstone-ignored", "P1", "a late attempt takes the lock for an owner that has released it", "TestScriptTombstone",
		edit{"backend/redislock/lua/acquire.lua", "  if refused and not mine then", "  if refused and mine then"}),
	inRedis("tombstone-not-written", "P1", "a release writes no tombstone for an owner in doubt", "TestScriptTombstone",
		edit{"backend/redislock/lua/release.lua", "    pcall(add_tombstone, gone, owner) --", "    --"}),
	inRedis("late-attempt-shortens", "P2", "an attempt that arrives late shortens the lease", "TestConformanceVirtual/late/shortens-nothing",
		edit{"backend/redislock/lua/acquire.lua", "  if left < tonumber(ttl) then", "  if true then"}),
	inRedis("points-in-time", "P2", "a lease is a point in time by the client's clock", "TestScriptsUseNoPointsInTime",
		edit{"backend/redislock/lua/acquire.lua", "redis.call('SET', lock, owner .. ' ' .. tokens[2], 'PX', ttl)",
			"redis.call('SET', lock, owner .. ' ' .. tokens[2], 'PXAT', ttl)"}),
}

// process has mutants of the state in one process.
var process = []mutant{
	outside("deadline-from-the-reply", "P2", "a lease counts from the reply", "TestReplyAfterTheLeaseIsNoLock",
		edit{"asking.go", "if clock.Elapsed(leasestate.Start(g), now) >= clock.SafeTTL(g.TTL) {", "if clock.Elapsed(leasestate.Start(g), now) < 0 {"}),
	root("monotonic-clock-only", "P2", "only the clock that stands still during a suspension is read", "TestJumpOfTheClockEndsTheLeases",
		edit{"internal/clock/clock.go", "return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))", "return now.Sub(since)"}),
	outside("unwatched-after-the-release", "P7", "the watchdog drops a lease only after its release was sent", "TestReleaseIsSentAfterTheWatchEnds",
		edit{"release.go", "	eng.watchdog.remove(lease.state)\n	if lost", "	defer eng.watchdog.remove(lease.state)\n	if lost"}),
	root("gate-opened-at-loss", "P8", "the next caller in the process may enter while the function that lost the key still runs", "TestGateStaysShutAfterLoss",
		edit{"lease.go", "	told := make(chan struct{})\n", "	told := make(chan struct{})\n	lease.engine.queue.Exit(lease.Key(), false)\n"}),
}

// waiting has mutants of the waits of the Redis backend.
var waiting = []mutant{
	inRedis("skipped-as-nobody-heard", "P5", "a waiter loses its turn if its message has no receiver", "TestScriptClockSetBack",
		edit{"backend/redislock/lua/includes/queue.lua", "    redis.pcall('PUBLISH', m[1], m[2])",
			"    if redis.call('PUBLISH', m[1], m[2]) == 0 then\n      redis.call('DEL', KEYS[1])\n    end"}),
}

// zooKeeper has mutants of the ZooKeeper backend.
var zooKeeper = []mutant{
	inZK("sequence-as-token", "P3", "a token is the number in a node's name, which starts again with a new parent", "TestContainersComeAndGo",
		edit{"backend/zklock/acquire.go", "placequeue.Tokens(p.createZxid, tokensPerID, r.Tokens)",
			"placequeue.Tokens(func() int64 { n, _ := parseNode(tk.name()); return n.seq + 1 }(), tokensPerID, r.Tokens)"}).on("zookeeper"),
	inZK("whose-node-is-not-asked", "P1", "a node with the name is the lock, independent of the session that created it", "TestNodeOfAnotherSession",
		edit{"backend/zklock/renew.go", " && stat.EphemeralOwner == r.Ticket.ephemeralOwner(r.Store)", ""}),
	inZK("stranger-is-not-refused", "P1", "a key is granted although a lock of Curator is there that does not see it", "TestStrangers",
		edit{"backend/zklock/acquire.go", "case p.stranger != nil:", "case false:"}).on("zookeeper"),
	inZK("stranger-is-not-noticed", "P2", "a key is kept although a lock of Curator has come that does not see it", "TestStrangers",
		edit{"backend/zklock/renew.go", "case other != nil:", "case false:"}).on("zookeeper"),
}

var (
	inRedis = in("./backend/redislock")
	inZK    = in("./backend/zklock")
)
