-- Locks with several holders. Follows after lib.lua.
--
-- A shared lock is a sorted set at the key where an exclusive lock is a string. Its members
-- are "r <owner>" for readers and "p <owner>" for holders of permits. The score is the time
-- at which the lease ends, in microseconds of the server's clock. All members are of one
-- kind, r or p. The key expires with the last lease.
--
-- The share that an owner asks for is "r" to read, "p<n>" for one of n permits, or "" for an
-- exclusive lock.

local function member(share, owner)
  return string.sub(share, 1, 1) .. ' ' .. owner
end

-- shared_kind is called with the error when a lock is not a string. It removes the holders
-- with a lease that has ended, and returns the kind of the others, or nil if there are none.
-- It also returns an error if the value is not a shared lock. Such a value stays as it is,
-- so both ends of the set are checked first. To check all members would take too long.
local function shared_kind(lock, err)
  if string.sub(err, 1, 9) ~= 'WRONGTYPE' then
    return nil, err
  end
  local low = redis.pcall('ZRANGE', lock, 0, 0, 'WITHSCORES')
  if low.err then
    return nil, low.err
  elseif not low[1] then
    return nil -- it has just expired
  end
  local high = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')
  local kind = string.match(high[1], '^([rp]) %S+$')
  if not kind or not string.find(low[1], '^[rp] %S+$') then
    return nil, 'WRONGTYPE the sorted set at the key of this lock is not one of ours'
  end
  -- The command is sent only if it removes a member: after a first write, a server that is
  -- out of memory would not refuse new locks any more.
  if tonumber(low[2]) <= time() then
    redis.call('ZREMRANGEBYSCORE', lock, '-inf', string.format('%.0f', time()))
    if tonumber(high[2]) <= time() then
      return nil
    end
  end
  return kind
end

-- add_holder adds the owner for ttl milliseconds, or extends its lease.
local function add_holder(lock, share, owner, ttl)
  redis.call('ZADD', lock, string.format('%.0f', time() + ttl * 1000), member(share, owner))
end

-- expire_with_last makes the key expire with the last lease.
local function expire_with_last(lock)
  local last = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((last - time()) / 1000)))
end

-- admits reports whether a request may join the present holders. kind is nil if there are
-- none.
local function admits(lock, kind, share)
  if not kind then
    return true
  end
  return kind == string.sub(share, 1, 1)
    and (kind == 'r' or redis.call('ZCARD', lock) < tonumber(string.sub(share, 2)))
end

-- time_left returns the milliseconds for which others have the lock. For a waiter it is the
-- time until the first of several leases ends: that holder may have died, and the others
-- may leave earlier. For a caller that does not wait it is the time until the lock may be
-- free for it.
local function time_left(lock, kind, share, mode)
  if kind ~= 'r' and kind ~= 'p' then
    return redis.call('PTTL', lock)
  end
  local which = -1
  if mode == 'enqueue' or kind == string.sub(share, 1, 1) then
    which = 0
  end
  local ends = redis.call('ZRANGE', lock, which, which, 'WITHSCORES')[2]
  return string.format('%.0f', math.ceil((ends - time()) / 1000))
end
