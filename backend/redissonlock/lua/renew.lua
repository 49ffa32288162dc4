-- Extends the lease of an owner that still has the lock. It creates nothing.
--
-- KEYS: the lock. ARGV: the owner, the time to live in milliseconds.
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
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
