-- Locks that several have: behind lib.lua.
--
-- Such a lock is a sorted set at the key where an exclusive one has its string. Its
-- members are "r <owner>" for readers and "p <owner>" for who has a permit, scored
-- by the microsecond of the server's time in which each one's lease ends. All are
-- of one kind: readers and permits keep each other out. The key itself ends with
-- the last of them.
--
-- What an owner wants is "r", or "p<n>" for one of n permits, or "" for the lock
-- alone.

local function member(wants, owner)
  return string.sub(wants, 1, 1) .. ' ' .. owner
end

-- sharers is called when a lock turned out to be no string, with the error. It
-- removes those whose lease has ended, and returns the kind of the others, r or p:
-- nil if there are none, and an error too if what is there is not ours. Of a
-- foreign set nothing is removed, so it looks before: at both ends, because ours
-- may have a thousand members.
local function sharers(lock, err)
  if string.sub(err, 1, 9) ~= 'WRONGTYPE' then
    return nil, err
  end
  local low = redis.pcall('ZRANGE', lock, 0, 0, 'WITHSCORES')
  if low.err then
    return nil, low.err
  elseif not low[1] then
    return nil -- it ended just now
  end
  local high = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')
  local kind = string.match(high[1], '^([rp]) %S+$')
  if not kind or not string.find(low[1], '^[rp] %S+$') then
    return nil, 'WRONGTYPE the sorted set at the key of this lock is not one of ours'
  end
  -- Only what removes something is sent: after a first write a full server would
  -- not refuse new locks any more.
  if tonumber(low[2]) <= time() then
    redis.call('ZREMRANGEBYSCORE', lock, '-inf', string.format('%.0f', time()))
    if tonumber(high[2]) <= time() then
      return nil
    end
  end
  return kind
end

-- join makes the owner one of the sharers for ttl milliseconds, or again.
local function join(lock, wants, owner, ttl)
  redis.call('ZADD', lock, string.format('%.0f', time() + ttl * 1000), member(wants, owner))
end

-- keep lets the key live as long as the last of its sharers.
local function keep(lock)
  local last = redis.call('ZRANGE', lock, -1, -1, 'WITHSCORES')[2]
  redis.call('PEXPIRE', lock, string.format('%.0f', math.ceil((last - time()) / 1000)))
end

-- admits reports whether who wants that may come in beside those who are in, of
-- whose kind there is nil if there are none.
local function admits(lock, kind, wants)
  if not kind then
    return true
  end
  return kind == string.sub(wants, 1, 1)
    and (kind == 'r' or redis.call('ZCARD', lock) < tonumber(string.sub(wants, 2)))
end

-- left returns for how many milliseconds others still have the lock, or have been
-- promised it. Who waits is told when the first of several ends: if that one has
-- died, it may be the last to be waited for. Who only tries is told when the lock
-- may be free for it.
local function left(lock, kind, wants, how)
  if kind ~= 'r' and kind ~= 'p' then
    return redis.call('PTTL', lock)
  end
  local which = -1
  if how == 'q' or kind == string.sub(wants, 1, 1) then
    which = 0
  end
  local ends = redis.call('ZRANGE', lock, which, which, 'WITHSCORES')[2]
  return string.format('%.0f', math.ceil((ends - time()) / 1000))
end
