-- publish says that the lock is free, to waiters for an RLock and for an RReadWriteLock. It
-- returns how many connections have heard it: waiters of this package listen to both channels.
-- It never fails, because it comes after the first write: Redis does not roll back. The command
-- is PUBLISH, or SPUBLISH in a Cluster, which a server before Redis 7 does not know.
local function publish(command, channel, rw_channel)
  local function send(to, message)
    local n = redis.pcall(command, to, message)
    if type(n) == 'table' and command ~= 'PUBLISH' then
      n = redis.pcall('PUBLISH', to, message)
    end
    return type(n) == 'number' and n or 0
  end
  return math.max(send(channel, '0'), send(rw_channel, '1'))
end
