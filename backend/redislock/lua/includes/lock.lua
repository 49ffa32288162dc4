-- What is at the key of a lock.
--
-- An exclusive lock is a string: "<owner> <token>", with the token that was issued to the
-- owner when it got the lock. If the owner took the lock with plain commands, it is "<owner>
-- ~<token>": it got a token that is not much larger than this one.
--
-- A shared lock is a sorted set. Its members are "r <owner>" for readers and "p <owner>" for
-- holders of permits. The score is the time at which the lease ends, in microseconds of the
-- server's clock. All members are of one kind, r or p. The key expires with the last lease.
--
-- The share that an owner asks for is "r" to read, "p<n>" for one of n permits, or "" for an
-- exclusive lock.

local function holds(value, owner)
  return string.sub(value, 1, #owner + 1) == owner .. ' '
end

local function member(share, owner)
  return string.sub(share, 1, 1) .. ' ' .. owner
end

-- add_holder adds the owner to a shared lock for ttl milliseconds, or extends its lease. It
-- never shortens a lease: the request may be late.
local function add_holder(lock, share, owner, ttl)
  local ends, m = time() + ttl * 1000, member(share, owner)
  local present = redis.call('ZSCORE', lock, m)
  if not present or tonumber(present) < ends then
    redis.call('ZADD', lock, string.format('%.0f', ends), m)
  end
end

-- expire_with_last makes the key expire with the last lease.
local function expire_with_last(lock)
  local last = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((last - time()) / 1000)))
end
