-- Deletes a lock that a plain attempt took, if it is still there.
--
-- KEYS: the lock.
-- ARGV: its value.

if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
end
