-- Releases the lock.
--
-- KEYS: the lock, its tokens, and a tombstone.
-- ARGV: the owner, the generation that is released (-1: any), the time to live of the tombstone
-- in milliseconds (0: none), and the first and the last token of the grant (0: none).
-- Returns MINE if the owner had it (or has released it before), OTHER if another owner has it,
-- NOBODY if it had no owner.

--- @constants
--- @include "includes/generation_of.lua"
--- @include "includes/counter.lua"
--- @include "includes/store.lua"

local lock, tokens, tombstone = KEYS[1], KEYS[2], KEYS[3]
local owner, generation, tombstone_ttl = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local first, last = tonumber(ARGV[4]), tonumber(ARGV[5])

-- pcall: a key of another type belongs to another owner.
local current = redis.pcall('GET', lock)
if type(current) == 'table' and string.sub(current.err, 1, 9) ~= 'WRONGTYPE' then
  return current
end
local mine = generation_of(current, owner)
if mine and generation >= 0 and mine > generation then
  mine = nil -- a later generation has it
end

-- A server that is out of memory does not refuse the first write, and does not refuse what
-- follows it. So a lock can be released there too.
redis.call('DEL', mine and lock or tombstone)
if tombstone_ttl > 0 then
  redis.call('SET', tombstone, '1', 'PX', tombstone_ttl)
end

-- Without minting there is no counter. A counter that cannot be read stays as it is; it must
-- not prevent the release.
local again = false
if last > 0 then
  local before, highest, holder, released = counter(tokens)
  again = before and released == owner
  if before and mine then
    if highest <= last then -- not stored here, or lost: the holder brings it back
      before, highest, holder = first, last, owner
    end
    store(tokens, before, highest, holder, owner)
  end
end

-- A release by the holder, not by an attempt that has failed, wakes waiters. Without the right
-- to publish they poll.
if generation < 0 and (mine or not current) then
  redis.pcall('PUBLISH', 'distlock:redlock:free:' .. lock, owner)
end

if mine or (again and not current) then
  return MINE
end
return current and OTHER or NOBODY
