-- Deletes a lock that a plain attempt took, if it is still there.
--
-- KEYS: the lock.
-- ARGV: the owner, and a space.

local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, #ARGV[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
