-- Makes one attempt for each of some shared locks. It follows after preamble.lua, lib.lua,
-- shared.lua, grant_next.lua and mint.lua.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, the time to live in milliseconds, how many tokens are
--   asked for, the mode (try or enqueue, as in acquire.lua), and the share: see shared.lua.
--
-- Returns a line for each lock, as acquire.lua.

local function attempt(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, ttl, tokens = ARGV[5 * i - 1], ARGV[5 * i], ARGV[5 * i + 1]
  local mode, share = ARGV[5 * i + 2], ARGV[5 * i + 3]
  local entry = ARGV[1] .. ':' .. owner .. ' ' .. share

  local kind -- of the holders; x if there is an exclusive one
  local current = read(lock)
  if type(current) == 'table' then
    local err
    kind, err = shared_kind(lock, current.err)
    if err then
      return '-' .. err -- a value of a foreign type
    end
  elseif current then
    kind = 'x'
    if mode == 'try' then
      return refusal(time_left(lock, kind, share, mode), current, redis.pcall('GET', fence_key))
    end
  end

  local first, last, holder, released, tombstones = fence(fence_key)
  if not first then
    return '-' .. last
  end

  local messages, granted = {}, false
  if kind == string.sub(share, 1, 1) and redis.call('ZSCORE', lock, member(share, owner)) then
    -- The owner repeats an attempt, or claims the lock that was granted to it. First a
    -- command that Redis does not refuse when it is out of memory.
    redis.call('PEXPIRE', lock, ttl)
    redis.call('ZREM', queue, entry)
    granted = true
  elseif released == owner or is_tombstoned(tombstones, owner) then
    -- The owner's release has overtaken this attempt, as in acquire_rest.lua.
    return '-GONE this owner has released the lock'
  elseif kind ~= 'x' then
    granted = not head(queue) and admits(lock, kind, share)
  end
  if granted then
    add_holder(lock, share, owner, ttl)
    kind = string.sub(share, 1, 1)
  end
  if kind ~= 'x' then
    -- It may be the turn of this owner or of other waiters. An owner that has the lock
    -- also grants it to waiters that may join.
    local own_granted
    messages, kind, own_granted = grant_next(lock, queue, kind, nil, entry)
    if own_granted then
      add_holder(lock, share, owner, ttl)
      granted = true
    end
  end

  if granted then
    expire_with_last(lock)
    -- The fence has the tokens of one owner. An owner that repeats an attempt after
    -- another owner was granted the lock gets new tokens, which are larger.
    if holder ~= owner then
      first, last = mint(fence_key, last, tokens, owner, released, tombstones)
    end
    local line = granted_line(first, last, queue)
    publish(messages)
    return line
  end

  if mode == 'enqueue' then
    enqueue(queue, entry)
  end
  local ms = time_left(lock, kind, share, mode)
  local line = refusal(ms, current, redis.pcall('GET', fence_key))
  publish(messages)
  return line
end

for i = 1, n do
  answers[i] = attempt(i)
end
return table.concat(answers, '\n')
