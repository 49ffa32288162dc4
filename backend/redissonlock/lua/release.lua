-- Releases the lock.
--
-- KEYS: the lock, its tombstones.
-- ARGV: the owner, 1 if an attempt of the owner is in doubt, the command to publish with, the
--   channels of RLock and of RReadWriteLock.
--
-- Returns an array of two numbers. The first is
--   1  this owner had it
--   0  another has it
--   2  it had no holder
-- The other is how many connections have heard that it is free.

--- @constants
--- @include "includes/lock.lua"
--- @include "includes/time.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/publish.lua"

local lock, gone = KEYS[1], KEYS[2]
local owner, in_doubt = ARGV[1], ARGV[2] == '1'

local mine = redis.pcall('HEXISTS', lock, owner .. GO_SUFFIX)
local err = failed(mine)
if err and not wrong_type(err) then
  return mine
end

local heard = 0
if mine == 1 then
  -- First a command that Redis does not refuse when it is out of memory.
  redis.call('DEL', lock)
  heard = publish(ARGV[3], ARGV[4], ARGV[5])
end
if in_doubt or mine ~= 1 then
  -- Each release writes: a server that has become a replica must not answer it.
  local ok, refused = pcall(in_doubt and add_tombstone or trim, gone, owner)
  if not ok then
    refused = type(refused) == 'table' and refused.err or refused
    -- A value of another type stays: then acquire.lua fails.
    if not string.find(refused, 'WRONGTYPE', 1, true) then
      return redis.error_reply(refused)
    end
  end
end
if mine == 1 then
  return { 1, heard }
end
return { redis.call('EXISTS', lock) == 1 and 0 or 2, 0 }
