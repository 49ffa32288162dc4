-- Takes all of some exclusive locks, or none of them. So it checks all locks before it
-- takes the first.
--
-- KEYS: n locks, their n queues, their n sets of tombstones, the clock.
-- ARGV: the time to live in milliseconds, then the n owners; then, only for a mixed fleet, the
--   interval in milliseconds at which other libraries poll.
--
-- Returns one line for all locks:
--   1 <last token before> <last token>   the tokens of each lock
--   0 <milliseconds left, negative if not known> …   one lock is held or waited for; as in
--     acquire.lua
--   -FOREIGN <i>   the lock with this number has a value of another type
--   -<error>

--- @constants
--- @include "includes/time.lua"
--- @include "includes/lock.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/refusal.lua"
--- @if MIXED
--- @include "includes/room.lua"
--- @end

local n = (#KEYS - 1) / 3
local before, bad_clock = last_issued()
if bad_clock then
  return '-' .. bad_clock
end

for i = 1, n do
  local lock, queue, gone, owner = KEYS[i], KEYS[n + i], KEYS[2 * n + i], ARGV[1 + i]
  local kind, value, err = holders(lock)
  if err then
    return string.sub(err, 1, 9) == 'WRONGTYPE' and '-FOREIGN ' .. i or '-' .. err
  end
  local waiting = redis.pcall('ZCARD', queue)
  if type(waiting) == 'table' then
    return '-' .. waiting.err
  elseif kind and not (value and holds(value, owner)) or not kind and waiting > 0 then
    return refusal(redis.call('PTTL', lock), before, value)
  end
  local refused, bad_gone = tombstoned(gone, owner)
  if bad_gone then
    return '-' .. bad_gone
  elseif refused then
    return '-GONE this owner has released the lock'
  end
  --- @if MIXED
  local free_for = not kind and room(gone, queue)
  if free_for then
    return refusal(free_for, before)
  end
  --- @end
end

local token = issue(before)
for i = 1, n do
  -- An owner that has the lock may have extended its lease since: this attempt may be late.
  local ttl = math.max(redis.call('PTTL', KEYS[i]), tonumber(ARGV[1]))
  redis.call('SET', KEYS[i], ARGV[1 + i] .. ' ' .. token, 'PX', string.format('%.0f', ttl))
  --- @if MIXED
  taken(KEYS[2 * n + i], 'x', ARGV[1])
  --- @end
end
return '1 ' .. before .. ' ' .. token
