-- Releases some locks, or gives up places in their queues.
--
-- KEYS: n locks, their n queues, their n sets of tombstones, the clock.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, 1 if an attempt of the owner is in doubt, and the share:
--   see includes/lock.lua. With a claim window of 0 a release leaves a lock free.
--
-- Returns a line for each lock:
--   1  this owner had it, or this is a repeated call of an owner in doubt
--   0  another owner has it
--   2  it had no holder
--   -<error>

--- @include "release_fast.lua"
--- @constants
--- @include "includes/time.lua"
--- @include "includes/lock.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/holders.lua"
--- @include "includes/queue.lua"
--- @include "includes/each.lua"

local n = (#KEYS - 1) / 3

local function release(i)
  local lock, queue, gone = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, in_doubt, share = ARGV[3 * i + 1], ARGV[3 * i + 2] == '1', ARGV[3 * i + 3]

  local kind, value, err = holders(lock, gone)
  if err and string.sub(err, 1, 9) ~= 'WRONGTYPE' then
    return '-' .. err
  elseif err then
    kind = 'x' -- a value of a foreign type belongs to another
  end

  -- First a command that Redis does not refuse when it is out of memory.
  local mine = false
  if share == '' then
    mine = value and holds(value, owner)
    if mine then
      redis.call('DEL', lock)
      kind = nil
    end
  elseif kind and kind ~= 'x' then
    mine = redis.call('ZREM', lock, member(share, owner)) == 1
    if mine and redis.call('EXISTS', lock) == 1 then
      expire_with_last(lock)
    elseif mine then
      kind = nil
    end
  end
  if not mine or value and taken(value) then -- a waiter may have taken the lock past the queue
    local left = redis.pcall('ZREM', queue, entry_of(owner, share))
    if type(left) == 'table' and string.sub(left.err, 1, 9) ~= 'WRONGTYPE' then
      return '-' .. left.err
    end
  end

  local repeated = false
  if in_doubt then
    repeated = tombstoned(gone, owner)
    pcall(add_tombstone, gone, owner) -- if it has another type, acquire.lua refuses the attempt
  end

  -- If the key is free, others may wait for it, even if this release comes too late. If the
  -- lock is shared, an owner that leaves the queue may have kept others from joining. What
  -- cannot be granted now is granted to a waiter that asks.
  local held = kind
  if kind ~= 'x' then
    local ok, messages = pcall(pass_on, lock, queue, kind, owner)
    if ok then
      publish(queue, messages)
    end
  end

  if mine or repeated then
    return '1'
  end
  return held and '0' or '2'
end

return each(n, answers, release)
