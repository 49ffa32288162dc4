-- Extends the leases of owners that still have theirs. It creates nothing: a lock that is
-- gone stays gone, and a lease that has ended stays ended, even if its member is still in
-- the set.
--
-- KEYS: the locks.
-- ARGV: for each lock the owner, the time to live in milliseconds, 1 if the lease ends after
--   that time even if it was longer, and the share: see includes/lock.lua. Without the 1 the
--   request may be late, and shortens no lease.
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
  local lock, owner, ttl = KEYS[i], ARGV[4 * i - 3], ARGV[4 * i - 2]
  local retain, share = ARGV[4 * i - 1] == '1', ARGV[4 * i]
  if share == '' then
    local value = redis.pcall('GET', lock)
    if type(value) == 'table' then
      return failed(value)
    elseif not value or not holds(value, owner) then
      return '0'
    elseif retain or redis.call('PTTL', lock) < tonumber(ttl) then
      redis.call('PEXPIRE', lock, ttl)
    end
    return '1'
  end

  local ends = redis.pcall('ZSCORE', lock, member(share, owner))
  if type(ends) == 'table' then
    return failed(ends)
  elseif not ends or tonumber(ends) <= tonumber(time()) then
    return '0'
  end
  -- First a command that Redis does not refuse when it is out of memory.
  redis.call('PEXPIRE', lock, ttl)
  local new = time() + ttl * 1000
  if retain or tonumber(ends) < new then
    redis.call('ZADD', lock, 'XX', string.format('%.0f', new), member(share, owner))
  end
  expire_with_last(lock)
  return '1'
end

return each(#KEYS, {}, renew)
