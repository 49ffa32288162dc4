package mutant

import "slices"

// All are the mutants in the order of the table in docs/matrix.md.
var All = slices.Concat(store, process, core, queue, leaseState, waiting, zooKeeper, requests, redisServers, quorum)

// store has mutants of the requests of the Redis backend to its server.
var store = []Mutant{
	{
		Name: "incr-tokens",
		Rule: "tokens come from INCR: after the loss of the counter they start again",
		Edits: []Edit{
			{"backend/redislock/acquire.lua", "first, released = now_text, '-'", "first, released = string.format('%016.0f', 1), '-'"},
			{"backend/redislock/acquire.lua", "if last >= now - tokens then", "if true then"},
			{"backend/redislock/acquire.lua", "local text = first .. ' ' .. now_text .. ' '", "local text = first .. ' ' .. first .. ' '"},
			{"backend/redislock/acquire.lua", "answers[i] = '1 ' .. first .. ' ' .. now_text .. ' 0'", "answers[i] = '1 ' .. first .. ' ' .. first .. ' 0'"},
		},
		Package: "./backend/redislock", Test: "TestScriptTokensAfterLoss",
	},
	{
		Name:    "release-of-another",
		Rule:    "a release does not check the owner",
		Edits:   []Edit{{"backend/redislock/release_rest.lua", "local mine = current == owner", "local mine = current ~= nil"}},
		Package: "./backend/redislock", Test: "TestConformanceEmbedded/release/others",
	},
	{
		Name: "renewal-recreates",
		Rule: "a renewal creates a key that is gone",
		Edits: []Edit{{"backend/redislock/renew.lua", "  else\n    renewed[i] = 0",
			"  elseif not current then\n    redis.call('SET', key, ARGV[2 * i - 1], 'PX', ARGV[2 * i])\n    renewed[i] = 1\n  else\n    renewed[i] = 0"}},
		Package: "./backend/redislock", Test: "TestScriptRenew",
	},
	{
		Name: "publish-before-write",
		Rule: "a script sends a message before its first write, which can be refused",
		Edits: []Edit{{"backend/redislock/acquire_rest.lua", "  if mode == 'enqueue' then\n    enqueue(queue, entry)",
			"  if mode == 'enqueue' then\n    redis.call('PUBLISH', ARGV[3] .. ARGV[1], owner)\n    enqueue(queue, entry)"}},
		Package: "./backend/redislock", Test: "TestScriptOutOfMemory", Needs: "redis-server",
	},
	{
		Name: "token-concatenated",
		Rule: "a token becomes text by .. and not by string.format",
		Edits: []Edit{{"backend/redislock/acquire.lua", "local now_text = string.format('%016.0f', now)",
			"local now_text = now .. ''"}},
		Package: "./backend/redislock", Test: "TestConformanceRedis/tokens/rise-over-release", Needs: "redis-server",
	},
	{
		Name: "set-nx-retried",
		Rule: "a repeated attempt waits for itself",
		Edits: []Edit{
			{"backend/redislock/acquire_rest.lua", "if current == owner and redis.call('PEXPIRE', lock, ttl) == 1 then",
				"if mode == 'extend' and current == owner and redis.call('PEXPIRE', lock, ttl) == 1 then"},
			{"backend/redislock/acquire_rest.lua", "elseif not current or current == owner then", "elseif not current then"},
		},
		Package: "./backend/redislock", Test: "TestScriptAcquireRepeat",
	},
	{
		Name:    "fences-for-ever",
		Rule:    "the counter of an unused key stays in Redis",
		Edits:   []Edit{{"backend/redislock/release.lua", "call('SET', KEYS[n + i], text, 'PX', RETENTION)", "call('SET', KEYS[n + i], text)"}},
		Package: "./backend/redislock", Test: "TestRow21RetentionEnds",
	},
	{
		Name: "points-in-time",
		Rule: "a lease is a point in time by the client's clock",
		Edits: []Edit{{"backend/redislock/acquire_rest.lua", "redis.call('SET', lock, owner, 'PX', ttl)",
			"redis.call('SET', lock, owner, 'PXAT', ttl)"}},
		Package: "./backend/redislock", Test: "TestScriptsUseNoPointsInTime",
	},
}

// process has mutants of the state in one process.
var process = []Mutant{
	{
		Name:    "deadline-from-the-reply",
		Rule:    "a lease counts from the reply",
		Edits:   []Edit{{"acquire.go", "if clock.Elapsed(leasestate.Start(g), time.Now()) >= clock.SafeTTL(g.TTL) {", "if clock.SafeTTL(g.TTL) <= 0 {"}},
		Package: ".", Test: "TestReplyAfterTheLeaseIsNoLock",
	},
	{
		Name:    "monotonic-clock-only",
		Rule:    "only the clock that stands still during a suspension is read",
		Edits:   []Edit{{"internal/clock/clock.go", "return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))", "return now.Sub(since)"}},
		Package: ".", Test: "TestSuspendEndsTheLeases",
	},
	{
		Name: "unwatched-after-the-release",
		Rule: "the watchdog drops a lease only after its release was sent",
		Edits: []Edit{
			{"release.go", "	l.watchdog.remove(s.state)\n	if over", "	defer l.watchdog.remove(s.state)\n	if over"},
		},
		Package: ".", Test: "TestReleaseIsSentAfterTheWatchEnds",
	},
	{
		Name:    "gate-opened-at-loss",
		Rule:    "the next caller in the process may enter while the function that lost the key still runs",
		Edits:   []Edit{{"lease.go", "	if h := s.locker.cfg.Hooks.Lost; h != nil {", "	s.locker.queue.Exit(s.Key(), false)\n	if h := s.locker.cfg.Hooks.Lost; h != nil {"}},
		Package: ".", Test: "TestGateStaysShutAfterLoss",
	},
}

// waiting has mutants of the waits of the Redis backend.
var waiting = []Mutant{
	{
		Name:    "no-poll",
		Rule:    "waiters do not poll, and only react to messages",
		Edits:   []Edit{{"backend/redislock/acquire.go", "	case <-t.C:\n		return nil\n", ""}},
		Package: "./backend/redislock", Test: "TestVirtualDeadHolder",
	},
	{
		Name: "skipped-as-nobody-heard",
		Rule: "a waiter loses its turn if its message has no receiver",
		Edits: []Edit{{"backend/redislock/grant_next.lua", "    redis.call('PUBLISH', m[1], m[2])",
			"    if redis.call('PUBLISH', m[1], m[2]) == 0 then\n      redis.call('DEL', KEYS[1])\n    end"}},
		Package: "./backend/redislock", Test: "TestScriptNobodyHears",
	},
}

// zooKeeper has mutants of the ZooKeeper backend.
var zooKeeper = []Mutant{
	{
		Name: "sequence-as-token",
		Rule: "a token is the number in a node's name, which starts again with a new parent",
		Edits: []Edit{{"backend/zklock/acquire.go", "tokens(p.createZxid, r.Tokens)",
			"tokens(func() (n int64) { _, _ = fmt.Sscan(tk.node[len(tk.node)-10:], &n); return n + 1 }(), r.Tokens)"}},
		Package: "./backend/zklock", Test: "TestContainersComeAndGo", Needs: "zookeeper",
	},
	{
		Name: "whose-node-is-not-asked",
		Rule: "a node with the name is the lock, independent of the session that created it",
		Edits: []Edit{
			{"backend/zklock/renew.go", "case stat.EphemeralOwner != lock.session.id:", "case stat.Czxid == 0:"},
		},
		Package: "./backend/zklock", Test: "TestStolenName", Needs: "zookeeper",
	},
	{
		Name:    "counter-outlives-its-node",
		Rule:    "the next number is believed although the key's node was deleted and created again",
		Edits:   []Edit{{"backend/zklock/link.go", "		l.counters.forget(e.Path)\n", ""}},
		Package: "./backend/zklock", Test: "TestCounterRestarts", Needs: "zookeeper",
	},
	{
		Name:    "counter-outlives-its-connection",
		Rule:    "the next number is believed although the watch has ended with its connection",
		Edits:   []Edit{{"backend/zklock/link.go", "		l.counters.forgetAll()\n", ""}},
		Package: "./backend/zklock", Test: "TestCounterRestarts", Needs: "zookeeper",
	},
	{
		Name:    "any-number-is-the-next",
		Rule:    "a new node counts as the first although another process has created one before it",
		Edits:   []Edit{{"backend/zklock/counters.go", "one.next == number", "one.next <= number"}},
		Package: "./backend/zklock", Test: "TestCounterOfAnother", Needs: "zookeeper",
	},
	{
		Name:    "last-reader-counts-as-first",
		Rule:    "the queue counts as empty when a node in it was deleted that was not the first",
		Edits:   []Edit{{"backend/zklock/nodes.go", "if tk.first == tk.node {", "if true {"}},
		Package: "./backend/zklock", Test: "TestCounterOfReaders", Needs: "zookeeper",
	},
}
