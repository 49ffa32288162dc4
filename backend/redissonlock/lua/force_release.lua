-- Takes the lock away from its holders.
--
-- KEYS: the lock, its tombstones.
-- ARGV: the command to publish with, the channels of RLock and of RReadWriteLock.
--
-- Returns "1" if the lock was held, "2" if it had no holder, or the type of what is at the key
-- if it is not a lock.

--- @constants
--- @include "includes/lock.lua"
--- @include "includes/time.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/publish.lua"

local lock, gone = KEYS[1], KEYS[2]

local fields = redis.pcall('HKEYS', lock)
if fields.err and wrong_type(fields.err) then
  local kind = redis.pcall('TYPE', lock)
  return kind.ok or 'value of another type'
elseif fields.err then
  return fields
elseif #fields == 0 then
  return '2'
elseif not is_lock(lock) then
  return 'hash'
end
-- First a command that Redis does not refuse when it is out of memory.
redis.call('DEL', lock)
for _, field in ipairs(fields) do
  if string.sub(field, -#GO_SUFFIX) == GO_SUFFIX then
    pcall(add_tombstone, gone, string.sub(field, 1, -#GO_SUFFIX - 1))
  end
end
publish(ARGV[1], ARGV[2], ARGV[3])
return '1'
