-- Who holds a lock.

-- shared_kind removes the holders of a shared lock with a lease that has ended, and returns
-- the kind of the others, or nil if there are none. Of a value that is not a shared lock it
-- returns an error. Such a value stays as it is, so both ends of the set are checked first.
-- To check all members would take too long.
local function shared_kind(lock)
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
  if tonumber(low[2]) <= tonumber(time()) then
    redis.call('ZREMRANGEBYSCORE', lock, '-inf', time())
    if tonumber(high[2]) <= tonumber(time()) then
      return nil
    end
  end
  return kind
end

-- taken returns the owner of a lock that was taken with plain commands, or nil.
local function taken(value)
  return string.match(value, '^(%S+) ~%d+$')
end

-- holders returns the kind of the holders of a lock: x for an exclusive one, r, p, or nil if
-- there are none. With x it also returns the value. Of a foreign value it returns an error. It
-- deletes a lock that a plain attempt took after the release of its owner: nobody has it.
local function holders(lock, gone)
  local value = redis.pcall('GET', lock)
  if not value then
    return nil
  elseif type(value) == 'string' then
    local owner = taken(value)
    if owner and tombstoned(gone, owner) then
      redis.call('DEL', lock)
      return nil
    end
    return 'x', value
  elseif string.sub(value.err, 1, 9) ~= 'WRONGTYPE' then
    return nil, nil, value.err
  end
  local kind, err = shared_kind(lock)
  return kind, nil, err
end
