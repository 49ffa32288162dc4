package mutant

const (
	roomLua    = "backend/redislock/lua/includes/room.lua"
	acquireLua = "backend/redislock/lua/acquire.lua"
)

// mixedFleet has mutants of how the Redis backend lives with clients of other libraries.
var mixedFleet = []Mutant{
	{
		Name:    "no-room-between-owners",
		Rule:    "a key that passes from owner to owner is never left free for others that poll",
		Edits:   []Edit{{roomLua, "  if not kind and room(gone, queue, released, value) then", "  if not kind and not released and room(gone, queue, released, value) then"}},
		Package: "./backend/redislock", Test: "TestVirtualPoller/two_processes",
	},
	{
		Name:    "no-room-while-extended",
		Rule:    "a process goes on with its lease although the key should be left free",
		Edits:   []Edit{{acquireLua, "    if value and holds(value, owner) and stretch_over(gone, value) then", "    if not value and stretch_over(gone, value) then"}},
		Package: "./backend/redislock", Test: "TestVirtualRoomEndsExtensions",
	},
	{
		Name:    "short-moments-count-as-room",
		Rule:    "a key that is free for a moment counts as left free",
		Edits:   []Edit{{roomLua, "  if free and time() - free >= ROOM then\n    redis.call('ZREM', gone, FREE, BUSY)", "  if free then\n    redis.call('ZREM', gone, FREE, BUSY)"}},
		Package: "./backend/redislock", Test: "TestVirtualPoller/one_process,_not_handed_over",
	},
	{
		Name:    "no-room-between-readers",
		Rule:    "readers join without end, so a key that they share is never left free",
		Edits:   []Edit{{acquireLua, "  full = not was_free and kind ~= 'x' and stretch_over(gone) and lock\n", "  full = false\n"}},
		Package: "./backend/redislock", Test: "TestVirtualPoller/readers_that_overlap",
	},
	{
		Name:    "no-room-after-a-lease",
		Rule:    "a key whose lease has ended is granted at once, however long others have polled for it",
		Edits:   []Edit{{acquireLua, "        note_busy(gone, issued_at(value), math.max(redis.call('PTTL', lock), 0))\n", ""}},
		Package: "./backend/redislock", Test: "TestVirtualRoomAfterACrash",
	},
	{
		Name:    "room-is-taken",
		Rule:    "an attempt takes a key that is left free for others",
		Edits:   []Edit{{acquireLua, "    kind = 'x' -- as if it were held\n", ""}},
		Package: "./backend/redislock", Test: "TestVirtualRoomKeepsTheOrder",
	},
	{
		Name:    "room-is-taken-with-others",
		Rule:    "an attempt for several keys takes one that is left free for others",
		Edits:   []Edit{{"backend/redislock/lua/acquire_all.lua", "  if free_for then\n", "  if false then\n"}},
		Package: "./backend/redislock", Test: "TestVirtualRoomEndsExtensions",
	},
	{
		Name:    "room-forgets-the-head",
		Rule:    "the first waiter is not told that the key is left free, and comes back when it polls",
		Edits:   []Edit{{roomLua, "    return { entry and { ARGV[3] .. inbox, owner } }, nil\n", "    return { false and { ARGV[3] .. inbox, entry and owner } }, nil\n"}},
		Package: "./backend/redislock", Test: "TestVirtualRoomKeepsTheOrder",
	},
	{
		Name:    "room-without-end",
		Rule:    "a time in the future is believed, so a key is left free for as long as the clock was set back",
		Edits:   []Edit{{roomLua, "  if score and score <= tonumber(time()) then", "  if score then"}},
		Package: "./backend/redislock", Test: "TestRoomClockSetBack",
	},
	{
		Name:    "head-waits-for-a-message-of-others",
		Rule:    "the first waiter does not look while another library has the key, which sends no message",
		Edits:   []Edit{{acquireLua, "      elseif head(queue) == entry then\n", "      elseif false then\n"}},
		Package: "./backend/redislock", Test: "TestVirtualRoomAndAfterIt",
	},
	{
		Name:    "record-of-each-use",
		Rule:    "each release leaves a record of a stretch behind",
		Edits:   []Edit{{"backend/redislock/lua/release_fast.lua", "t[1] * 1000000 + t[2] - token < ARGV[#ARGV] * 10", "false"}},
		Package: "./backend/redislock", Test: "TestVirtualRoomLeavesLittle",
	},
	{
		Name:    "message-although-it-passes-on",
		Rule:    "waiters of another library are woken for a key that passes to a waiter",
		Edits:   []Edit{{"backend/redislock/lua/release.lua", "    if not after then\n", "    if ok then\n"}},
		Package: "./backend/redislock", Test: "TestReleaseMessage",
	},
	{
		Name:    "message-forgotten-in-the-prefix",
		Rule:    "a release in the frequent case sends no message",
		Edits:   []Edit{{"backend/redislock/lua/release_fast.lua", "    if ARGV[2 + 3 * n + 2 * i] ~= '' or ", "    if "}},
		Package: "./backend/redislock", Test: "TestReleaseMessage",
	},
}
