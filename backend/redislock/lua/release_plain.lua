-- Releases an exclusive lock that nobody waits for. It leaves everything else to release.lua.
--
-- KEYS: the lock, its queue.
-- ARGV: the owner, followed by a space.
--
-- Returns 1 if the owner had the lock, and 0 if nothing was done.

local call = redis.call -- a local is faster than a global
local value, owner = call('GET', KEYS[1]), ARGV[1]
if value and string.sub(value, 1, #owner) == owner and call('EXISTS', KEYS[2]) == 0 then
  call('DEL', KEYS[1])
  return '1'
end
return '0'
