-- Takes some locks away from all who have them, and passes them on: behind
-- sharing.lua, lib.lua, sharers.lua, pass.lua and ours.lua.
--
-- ARGV has for each lock the name of the order, fresh for each, and two entries
-- that say nothing here.
--
-- Returns a line for each lock:
--   1  somebody had it, or this is a repeat
--   2  nobody had it
--   -<error>

local function depose(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local order = ARGV[3 * i + 1]

  local current, kind = read(lock), nil
  if type(current) == 'table' then
    local err
    kind, err = sharers(lock, current.err)
    if err then
      return '-' .. err -- a foreign type: nothing of ours
    end
    current = kind
  end

  local first, last, holder, released, buried = fence(fence_key)
  if not first then
    return '-' .. last
  end
  -- The order is kept among the buried, so that a repeat does not hit whoever the
  -- lock was passed on to.
  if is_buried(buried, order) then
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
    -- First what Redis never refuses for want of memory.
    redis.call('DEL', lock)
    -- Whatever was handed out is smaller from now on than whatever will be.
    last = math.max(last + 1, time())
    first, holder = last, '-'
    if not kind then
      buried = bury(buried, current, time(), false)
    end
  end
  store(fence_key, first, last, holder, released, bury(buried, order, time(), false))
  tell((pass(lock, queue)))
  return current and '1' or '2'
end

for i = 1, n do
  answers[i] = depose(i)
end
return table.concat(answers, '\n')
