-- Extends locks that their owners have.
--
-- KEYS: the locks. ARGV: three for each lock: the owner, the time to live in milliseconds, and
-- 1 if the lease ends after that time even if it was longer. Otherwise the request may be late,
-- and shortens no lease.
-- Returns for each lock MINE if it was extended, OTHER if another owner has it, NOBODY if it
-- has no owner. Nothing is created.

--- @constants
--- @include "includes/generation_of.lua"

local found = {}
for i, key in ipairs(KEYS) do
  local owner, ttl, retain = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i] == '1'
  -- pcall: a key of another type does not belong to this owner, and must not prevent the
  -- renewal of the others. Any other error says nothing about the owner.
  local value = redis.pcall('GET', key)
  if type(value) == 'table' and string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    return value
  end
  if generation_of(value, owner) then
    if retain or redis.call('PTTL', key) < tonumber(ttl) then
      redis.call('PEXPIRE', key, ttl)
    end
    found[i] = MINE
  else
    found[i] = value and OTHER or NOBODY
  end
end
return found
