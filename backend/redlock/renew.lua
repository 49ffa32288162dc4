-- Extends locks that their owners have.
--
-- KEYS: the locks. ARGV: two for each lock: the owner, and the time to live in milliseconds.
-- Returns for each lock 1 if it was extended, 0 if another owner has it, 2 if it has no owner.
-- Nothing is created.

local found = {}
for i, key in ipairs(KEYS) do
  local owner, ttl = ARGV[2 * i - 1], ARGV[2 * i]
  -- pcall: a key of another type does not belong to this owner, and must not prevent the
  -- renewal of the others. Any other error says nothing about the owner.
  local value = redis.pcall('GET', key)
  if type(value) == 'table' and string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    return value
  end
  if value == owner or (type(value) == 'string' and string.sub(value, 1, #owner + 1) == owner .. ' ') then
    found[i] = redis.call('PEXPIRE', key, ttl) == 1 and 1 or 2
  else
    found[i] = value and 0 or 2
  end
end
return found
