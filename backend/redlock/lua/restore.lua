-- Puts locks that a quorum has confirmed where they are missing.
--
-- KEYS: 1 the marker of the node, then two for each lock: the lock, and the tombstone of its
-- owner. ARGV: 1 for how many microseconds the data of the node must be complete, then two
-- for each lock: its value, and the time to live in milliseconds.
-- Returns 1 for each lock that was put, or 0.

--- @include "includes/micros.lua"
--- @include "includes/data_age.lua"

local restored = {}
local age, bad = data_age(KEYS[1], micros())
if not age then
  return bad
end
local counts = age >= tonumber(ARGV[1])
for i = 1, (#KEYS - 1) / 2 do
  restored[i] = 0
  if counts and redis.call('EXISTS', KEYS[2 * i], KEYS[2 * i + 1]) == 0 then
    redis.call('SET', KEYS[2 * i], ARGV[2 * i], 'PX', ARGV[2 * i + 1])
    restored[i] = 1
  end
end
return restored
