-- Extends locks that their owners still have. KEYS are the locks; ARGV has two
-- entries for each, the owner and the time to live. Returns 1 or 0 for each.
-- Nothing is created: a lock that is gone stays gone.

local renewed = {}
for i, key in ipairs(KEYS) do
  -- pcall: a key of another type is not this owner's either, and must not spoil
  -- the renewal of the others. Any other error says nothing about the owner.
  local current = redis.pcall('GET', key)
  if type(current) == 'table' and string.sub(current.err, 1, 9) ~= 'WRONGTYPE' then
    return current
  end
  if current == ARGV[2 * i - 1] then
    renewed[i] = redis.call('PEXPIRE', key, ARGV[2 * i])
  else
    renewed[i] = 0
  end
end
return renewed
