-- Extends locks that their owners have.
--
-- KEYS: the locks. ARGV: two for each lock: the owner, and the time to live in milliseconds.
-- Returns for each lock MINE if it was extended, OTHER if another owner has it, NOBODY if it
-- has no owner. Nothing is created.

--- @constants
--- @include "includes/generation_of.lua"

local found = {}
for i, key in ipairs(KEYS) do
  local owner, ttl = ARGV[2 * i - 1], ARGV[2 * i]
  -- pcall: a key of another type does not belong to this owner, and must not prevent the
  -- renewal of the others. Any other error says nothing about the owner.
  local value = redis.pcall('GET', key)
  if type(value) == 'table' and string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    return value
  end
  if generation_of(value, owner) then
    found[i] = redis.call('PEXPIRE', key, ttl) == 1 and MINE or NOBODY
  else
    found[i] = value and OTHER or NOBODY
  end
end
return found
