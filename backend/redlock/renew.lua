-- Extends locks that their owners still have. KEYS are the locks; ARGV has two
-- entries for each, the owner and the time to live. Returns for each 1 if it was
-- extended, 0 if another has it, 2 if nobody has. Nothing is created.

local found = {}
for i, key in ipairs(KEYS) do
  local owner, ttl = ARGV[2 * i - 1], ARGV[2 * i]
  -- pcall: a key of another type is not this owner's either, and must not spoil
  -- the renewal of the others. Any other error says nothing about the owner.
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
