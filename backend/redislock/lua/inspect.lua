-- Describes one lock and changes nothing.
--
-- KEYS: the lock, its queue, its set of tombstones.
-- ARGV: the number of holders to list at most; the number of waiters to list at most; and 1
--   if a string that expires is to be listed although another library may have set it. Such
--   a string is also listed if a waiter waits for it.
--
-- Returns nil if the key has neither holders nor waiters, or if the value is not a lock.
-- Otherwise an array:
--   the number of holders
--   the number of waiters
--   the kind of the holders: see includes/lock.lua; x for an exclusive one, - for none
--   for each holder: the owner, the milliseconds until its lease ends, negative if it does
--     not end, and the token, or "" if it is not known. A token with ~ before it is a
--     little smaller than the holder's.
--   for each of the first waiters: its entry in the queue, see includes/queue.lua, and its
--     ticket

--- @include "includes/ownership.lua"

local lock, queue, gone = KEYS[1], KEYS[2], KEYS[3]

-- get returns a reply, or nil and true if the key has another type.
local function get(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err then
    if string.sub(reply.err, 1, 9) ~= 'WRONGTYPE' then
      return redis.call(...) -- fails again, with the error of the server as it is
    end
    return nil, true
  end
  return reply
end

local waiting = get('ZCARD', queue) or 0
local kind, held, holders = '-', 0, {}

local value, wrong = get('GET', lock)
local owner, token = parse(value or '')
if string.sub(token, 1, 1) == '~' and get('ZSCORE', gone, owner) then
  value = nil -- a plain attempt took the lock after the release of its owner: nobody has it
end
if value then
  local ms = redis.call('PTTL', lock)
  if value_is_lock(lock, value) or ms > 0 and (waiting > 0 or ARGV[3] == '1') then
    kind, held, holders = 'x', 1, { owner, string.format('%.0f', ms), token }
  end
elseif wrong then
  local clock = redis.call('TIME')
  local now = clock[1] * 1000000 + clock[2]
  local after = '(' .. string.format('%.0f', now)
  local found = get('ZRANGEBYSCORE', lock, after, '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
  if not found then
    return nil
  end
  for i = 1, #found, 2 do
    local k, holder = string.match(found[i], '^([rp]) (%S+)$')
    if not k then
      return nil
    end
    kind = k
    holders[#holders + 1] = holder
    holders[#holders + 1] = string.format('%.0f', math.ceil((found[i + 1] - now) / 1000))
    holders[#holders + 1] = ''
  end
  held = redis.call('ZCOUNT', lock, after, '+inf')
end

if held == 0 and waiting == 0 then
  return nil
end
local waiters = {}
if waiting > 0 then
  waiters = redis.call('ZRANGEBYSCORE', queue, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
end
return { held, waiting, kind, holders, waiters }
