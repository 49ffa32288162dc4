-- Tombstones: the owners that were released while an attempt of theirs was in doubt. The
-- attempt may still arrive. Then it is refused, because no caller would have the lock. They
-- are a sorted set, scored by the time of the release.

-- tombstoned reports whether the owner has one. It may return an error too.
local function tombstoned(gone, owner)
  local score = redis.pcall('ZSCORE', gone, owner)
  if type(score) == 'table' then
    return false, score.err
  end
  return score ~= false
end

local function add_tombstone(gone, owner)
  redis.call('ZADD', gone, time(), owner)
  redis.call('ZREMRANGEBYSCORE', gone, '-inf', string.format('%.0f', time() - TOMBSTONE_TTL * 1000))
  redis.call('PEXPIRE', gone, TOMBSTONE_TTL)
end
