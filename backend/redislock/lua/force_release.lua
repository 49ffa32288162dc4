-- Takes some locks away from all their holders, and grants them to waiters. It tells the
-- holders in the channels in which they are asked to give a lock back.
--
-- KEYS: n locks, their n queues, their n sets of tombstones, the clock.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: a fresh name for this call, and two values that are not used.
--   The claim window is as in release.lua.
--
-- Returns a line for each lock:
--   1  the lock was held, or this is a repeated call
--   2  it had no holder
--   -<error>

--- @constants
--- @include "includes/time.lua"
--- @include "includes/lock.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/holders.lua"
--- @include "includes/queue.lua"
--- @include "includes/ownership.lua"
--- @include "includes/each.lua"

local n = (#KEYS - 1) / 3

local function force_release(i)
  local lock, queue, gone = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local name = ARGV[3 * i + 1]

  local kind, value, err = holders(lock, gone)
  if err then
    return '-' .. err -- a value of a foreign type
  end
  -- The name of the call is among the tombstones, so that a repeated call does not take
  -- the lock away from the waiter that it was granted to.
  local repeated, bad_gone = tombstoned(gone, name)
  local waiting = redis.pcall('ZCARD', queue)
  err = bad_gone or type(waiting) == 'table' and waiting.err
  if err then
    return '-' .. err
  elseif repeated then
    return '1'
  elseif not kind and waiting == 0 then
    return '2'
  end

  local owners = {}
  if kind then
    if value and not value_is_lock(lock, value) then
      return '-NOLOCK what is at this key is not a lock'
    end
    if value then
      owners[1] = parse(value)
    else
      for j, m in ipairs(redis.call('ZRANGE', lock, 0, 999)) do
        owners[j] = string.sub(m, 3)
      end
    end
    -- First a command that Redis does not refuse when it is out of memory.
    redis.call('DEL', lock)
    if value then
      add_tombstone(gone, owners[1])
    end
  end
  add_tombstone(gone, name)
  publish(queue, pass_on(lock, queue))
  for _, owner in ipairs(owners) do
    redis.pcall('PUBLISH', ARGV[3] .. 'revoke:' .. owner, '')
  end
  return kind and '1' or '2'
end

return each(n, {}, force_release)
