-- Takes some locks away from all their holders, and grants them to waiters. It follows
-- after preamble.lua, lib.lua, shared.lua, grant_next.lua and ownership.lua.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: a fresh name for this call, and two values that are not used.
--
-- Returns a line for each lock:
--   1  the lock was held, or this is a repeated call
--   2  it had no holder
--   -<error>

local function force_release(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local name = ARGV[3 * i + 1]

  local current, kind = read(lock), nil
  if type(current) == 'table' then
    local err
    kind, err = shared_kind(lock, current.err)
    if err then
      return '-' .. err -- a value of a foreign type
    end
    current = kind
  end

  local first, last, holder, released, tombstones = fence(fence_key)
  if not first then
    return '-' .. last
  end
  -- The name of the call is among the tombstones, so that a repeated call does not take
  -- the lock away from the waiter that it was granted to.
  if is_tombstoned(tombstones, name) then
    return '1'
  end
  local waited = redis.call('EXISTS', queue) == 1
  if not current and not waited then
    return '2'
  end

  if current then
    if not kind and not is_lock(lock, current, redis.call('GET', fence_key)) then
      return '-NOLOCK what is at this key is no lock of ours'
    end
    -- First a command that Redis does not refuse when it is out of memory.
    redis.call('DEL', lock)
    -- All tokens that were issued are smaller than those of later grants.
    last = math.max(last + 1, time())
    first, holder = last, '-'
    if not kind then
      tombstones = add_tombstone(tombstones, current, time(), false)
    end
  end
  store(fence_key, first, last, holder, released, add_tombstone(tombstones, name, time(), false))
  publish((grant_next(lock, queue)))
  return current and '1' or '2'
end

for i = 1, n do
  answers[i] = force_release(i)
end
return table.concat(answers, '\n')
