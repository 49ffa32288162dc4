-- Extends the leases of holders of shared locks that still have theirs. It creates nothing:
-- a lease that has ended stays ended, even if its member is still in the set.
--
-- KEYS: the locks.
-- ARGV: for each lock the member of the sorted set, see shared.lua, and the time to live in
--   milliseconds.
--
-- Returns 1 or 0 for each lock.

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]

local renewed = {}
for i, key in ipairs(KEYS) do
  local member, ttl = ARGV[2 * i - 1], ARGV[2 * i]
  -- pcall, as in renew.lua.
  local ends = redis.pcall('ZSCORE', key, member)
  if type(ends) == 'table' and string.sub(ends.err, 1, 9) ~= 'WRONGTYPE' then
    return ends
  end
  if type(ends) == 'string' and tonumber(ends) > now then
    -- First a command that Redis does not refuse when it is out of memory. It sets the
    -- right time, unless the lease of another holder ends later.
    redis.call('PEXPIRE', key, ttl)
    redis.call('ZADD', key, 'XX', string.format('%.0f', now + ttl * 1000), member)
    local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
    if last[1] ~= member then
      redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((last[2] - now) / 1000)))
    end
    renewed[i] = 1
  else
    renewed[i] = 0
  end
end
return renewed
