package mutant

const (
	roomLua        = "backend/redislock/lua/includes/room.lua"
	acquireLua     = "backend/redislock/lua/acquire.lua"
	releaseFastLua = "backend/redislock/lua/release_fast.lua"
)

// mixedFleet has mutants of how the Redis backend lives with clients of other libraries.
var mixedFleet = []Mutant{
	inRedislock("no-room-between-owners", "a key that passes from owner to owner is never left free for others that poll", "TestVirtualPoller/two_processes",
		Edit{roomLua, "  if not kind and room(gone, queue, released, value) then", "  if not kind and not released and room(gone, queue, released, value) then"}),
	inRedislock("no-room-while-extended", "a process goes on with its lease although the key should be left free", "TestVirtualRoomEndsExtensions",
		Edit{acquireLua, "    if value and holds(value, owner) and stretch_over(gone, value) then", "    if not value and stretch_over(gone, value) then"}),
	inRedislock("short-moments-count-as-room", "a key that is free for a moment counts as left free", "TestVirtualPoller/one_process,_not_handed_over",
		Edit{roomLua, "  if free and time() - free >= ROOM then\n    redis.call('ZREM', gone, FREE, BUSY)", "  if free then\n    redis.call('ZREM', gone, FREE, BUSY)"}),
	inRedislock("no-room-between-readers", "readers join without end, so a key that they share is never left free", "TestVirtualPoller/readers_that_overlap",
		Edit{acquireLua, "  full = not was_free and kind ~= 'x' and stretch_over(gone) and lock\n", "  full = false\n"}),
	inRedislock("no-room-after-a-lease", "a key whose lease has ended is granted at once, however long others have polled for it", "TestVirtualRoomAfterACrash",
		Edit{acquireLua, "        note_busy(gone, issued_at(value), math.max(redis.call('PTTL', lock), 0))\n", ""}),
	inRedislock("room-is-taken", "an attempt takes a key that is left free for others", "TestVirtualRoomKeepsTheOrder",
		Edit{acquireLua, "    kind = 'x' -- as if it were held\n", ""}),
	inRedislock("room-forgets-the-head", "the first waiter is not told that the key is left free, and comes back when it polls", "TestVirtualRoomKeepsTheOrder",
		Edit{roomLua, "    return { entry and { ARGV[3] .. inbox, owner } }, nil\n", "    return { false and { ARGV[3] .. inbox, entry and owner } }, nil\n"}),
	inRedislock("room-without-end", "a time in the future is believed, so a key is left free for as long as the clock was set back", "TestRoomClockSetBack",
		Edit{roomLua, "  if score and score <= tonumber(time()) then", "  if score then"}),
	inRedislock("head-waits-for-a-message-of-others", "the first waiter does not look while another library has the key, which sends no message", "TestVirtualRoomAndAfterIt",
		Edit{acquireLua, "      elseif head(queue) == entry then\n", "      elseif false then\n"}),
	inRedislock("record-of-each-use", "each release leaves a record of a stretch behind", "TestVirtualRoomLeavesLittle",
		Edit{releaseFastLua, "t[1] * 1000000 + t[2] - token < ARGV[#ARGV] * 10", "false"}),
	inRedislock("message-although-it-passes-on", "waiters of another library are woken for a key that passes to a waiter", "TestReleaseMessage",
		Edit{"backend/redislock/lua/release.lua", "    if not after then\n", "    if ok then\n"}),
	inRedislock("message-forgotten-in-the-prefix", "a release in the frequent case sends no message", "TestReleaseMessage",
		Edit{releaseFastLua, "    if ARGV[2 + 3 * n + 2 * i] ~= '' or ", "    if "}),
}

var inRedislock = in("./backend/redislock")
