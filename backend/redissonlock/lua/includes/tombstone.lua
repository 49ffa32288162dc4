-- Tombstones: the owners that were released while an attempt of theirs was in doubt. The
-- attempt may still arrive. Then it is refused, because no caller would have the lock. They
-- are a sorted set, scored by the time of the release.

local function trim(gone)
  redis.call('ZREMRANGEBYSCORE', gone, '-inf', string.format('%.0f', micros() - TOMBSTONE_TTL * 1000))
end

local function add_tombstone(gone, owner)
  redis.call('ZADD', gone, string.format('%.0f', micros()), owner)
  trim(gone)
  redis.call('PEXPIRE', gone, TOMBSTONE_TTL)
end
