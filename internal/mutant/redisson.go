package mutant

// redisson has mutants of the backend that shares locks with Redisson.
var redisson = []Mutant{
	redissonMutant("no-mode", "the record has no mode, so RReadWriteLock does not see it", "TestRecord",
		Edit{"backend/redissonlock/lua/acquire.lua", "redis.call('HSET', lock, 'mode', 'write', field, '1')", "redis.call('HSET', lock, field, '1')"}),
	redissonMutant("java-is-not-a-holder", "a hash without the own field is free", "TestHeldInJava",
		Edit{"backend/redissonlock/lua/acquire.lua", "if fields > 0 then", "if false then"}),
	redissonMutant("own-counter", "tokens ignore the counter of RFencedLock", "TestTokensAreSharedWithRFencedLock",
		Edit{"backend/redissonlock/lua/acquire.lua", "math.max(tonumber(last) + tokens, now)", "now"}),
	redissonMutant("counter-expires", "the counter of RFencedLock is given a time to live", "TestRecord",
		Edit{"backend/redissonlock/lua/acquire.lua", "if counter_ttl == '0' then", "if false then"},
		Edit{"backend/redissonlock/lua/acquire.lua", "'PX', string.format('%.0f', counter_ttl + lead))", "'PX', 60000)"}),
	redissonMutant("late-attempt-has-the-key", "an attempt is granted although its owner has released", "TestOvertakenAttempt",
		Edit{"backend/redissonlock/lua/acquire.lua", "if redis.call('ZSCORE', gone, owner) then", "if false then"}),
	redissonMutant("redisson-lease-shortened", "a late copy of an attempt shortens the lease", "TestLateAttemptShortensNoLease",
		Edit{"backend/redissonlock/lua/acquire.lua", "elseif redis.call('PTTL', lock) < ttl then", "else"}),
	redissonMutant("abandoned-attempt-is-no-doubt", "an attempt that was abandoned counts as answered", "TestOvertakenAttempt",
		Edit{"backend/redissonlock/acquire.go", "	if !a.known {\n", "	if !a.known && err == nil {\n"}),
	redissonMutant("lost-release-is-a-loss", "a release that was sent twice reports a loss", "TestLostReply",
		Edit{"backend/redissonlock/release.go", "	case doubt&rediskit.ReleaseInDoubt != 0:\n", "	case false:\n"}),
	redissonMutant("silent-release", "a release does not wake waiters for an RReadWriteLock", "TestMessages",
		Edit{"backend/redissonlock/lua/includes/publish.lua", "send(rw_channel, '1')", "0"}),
	redissonMutant("silent-force", "a release by force wakes no waiters", "TestMessages",
		Edit{"backend/redissonlock/lua/force_release.lua", "publish(ARGV[1], ARGV[2], ARGV[3])\n", "\n"}),
	redissonMutant("deaf-to-writers", "messages of RReadWriteLock wake nothing", "TestWokenByJava",
		Edit{"backend/redissonlock/wake.go", "b.listener.Subscribe(readWrite, message, func() {", "b.listener.Subscribe(readWrite, func(string) {}, func() {"}),
	redissonMutant("deaf-for-a-while", "a release of RReadWriteLock is missed while only the other channel works", "TestSecondChannelWorksLater",
		Edit{"backend/redissonlock/wake.go", "if begun.Load() {", "if false {"}),
	redissonMutant("application-is-a-lock", "a release by force deletes any hash that expires", "TestForceReleaseOfAnApplicationsHash",
		Edit{"backend/redissonlock/lua/force_release.lua", "elseif not is_lock(lock) then", "elseif false then"}),
	redissonMutant("forced-owner-comes-back", "an owner takes the lock again that was taken away by force", "TestForcedOwnerIsRefused",
		Edit{"backend/redissonlock/lua/force_release.lua", "if string.sub(field, -#GO_SUFFIX) == GO_SUFFIX then", "if false then"}),
	redissonMutant("no-turn-for-others", "a process takes the key again at once that it has released", "TestOthersGetTheirTurn",
		Edit{"backend/redissonlock/turns.go", "rediskit.Sleep(ctx, turnTime-ago)", "rediskit.Sleep(ctx, 0)"}),
	redissonMutant("all-hand-overs", "the key changes hands in one process as often as without Redisson", "TestOthersGetTheirTurn",
		Edit{"backend/redissonlock/turns.go", "return min(n, turnTokens)", "return n"}),
	redissonMutant("hears-itself", "a process counts itself among the others that wait", "TestOthersGetTheirTurn",
		Edit{"backend/redissonlock/release.go", "		heard-- // this process itself\n", "\n"}),
	listenerMutant("listener-is-silent", "subscribers are not told when a subscription works again", "TestListenerInterrupted",
		Edit{"backend/internal/rediskit/listener.go", "		for _, s := range subscribers {\n			s.look()", "		for _, s := range subscribers[:0] {\n			s.look()"}),
	listenerMutant("listener-stays", "a channel without subscribers is never left", "TestListenerLeavesChannels",
		Edit{"backend/internal/rediskit/listener.go", "		case len(ch.subscribers) == 0:\n			delete(l.channels, name)\n			left", "		case false:\n			delete(l.channels, name)\n			left"}),
}

var (
	redissonMutant = in("./backend/redissonlock")
	listenerMutant = in("./backend/internal/rediskit")
)
