-- Extends the lease of an owner that still has the lock. It creates nothing.
--
-- KEYS: the lock. ARGV: the owner, the time to live in milliseconds, 1 if the lease ends after
-- that time even if it was longer. Otherwise the request may be late, and shortens no lease.
-- Returns 1 if it was extended, 0 if not.

--- @constants
--- @include "includes/lock.lua"

local mine = redis.pcall('HEXISTS', KEYS[1], ARGV[1] .. GO_SUFFIX)
local err = failed(mine)
if err and not wrong_type(err) then
  return mine
elseif err or mine == 0 then
  return 0
end
if ARGV[3] == '1' or redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 1
