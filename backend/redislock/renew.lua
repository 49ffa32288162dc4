-- Extends exclusive locks that their owners still have. It creates nothing: a lock that is
-- gone stays gone.
--
-- KEYS: the locks.
-- ARGV: for each lock its owner and the time to live in milliseconds.
--
-- Returns 1 or 0 for each lock.

local renewed = {}
for i, key in ipairs(KEYS) do
  -- pcall: a key of another type does not belong to this owner, and must not prevent the
  -- renewal of the others. Any other error says nothing about the owner.
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
