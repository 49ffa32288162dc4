-- Extends the leases of owners that still have theirs. It creates nothing: a lock that is
-- gone stays gone, and a lease that has ended stays ended, even if its member is still in
-- the set.
--
-- KEYS: the locks.
-- ARGV: for each lock the owner, the time to live in milliseconds, and the share: see
--   includes/lock.lua.
--
-- Returns a line for each lock: 1 if it was extended, 0 if not, or -<error>.

--- @include "includes/time.lua"
--- @include "includes/lock.lua"
--- @include "includes/each.lua"

-- A value of another type does not belong to this owner. Any other error says nothing about
-- the owner.
local function failed(reply)
  if string.sub(reply.err, 1, 9) == 'WRONGTYPE' then
    return '0'
  end
  return '-' .. reply.err
end

local function renew(i)
  local lock, owner, ttl, share = KEYS[i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  if share == '' then
    local value = redis.pcall('GET', lock)
    if type(value) == 'table' then
      return failed(value)
    elseif value and holds(value, owner) then
      return tostring(redis.call('PEXPIRE', lock, ttl))
    end
    return '0'
  end

  local ends = redis.pcall('ZSCORE', lock, member(share, owner))
  if type(ends) == 'table' then
    return failed(ends)
  elseif not ends or tonumber(ends) <= tonumber(time()) then
    return '0'
  end
  -- First a command that Redis does not refuse when it is out of memory.
  redis.call('PEXPIRE', lock, ttl)
  redis.call('ZADD', lock, 'XX', string.format('%.0f', time() + ttl * 1000), member(share, owner))
  expire_with_last(lock)
  return '1'
end

return each(#KEYS, {}, renew)
