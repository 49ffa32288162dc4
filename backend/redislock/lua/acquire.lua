-- Makes one attempt for each of some locks.
--
-- KEYS: n locks, their n queues, their n sets of tombstones, the clock.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, the time to live in milliseconds, the mode, and the
--   share: see includes/lock.lua. The modes are:
--     try      do not queue
--     enqueue  queue if the lock is not granted
--     extend   extend the owner's lease and issue new tokens, unless others wait; for
--              exclusive locks
--     an owner, which has handed its lease off: the new one takes its place
--
-- Returns a line for each lock:
--   1 <last token before> <last token> <1 if others wait, else 0>
--   0 <milliseconds left, negative if not known> <last token issued> [<microseconds since
--     the only holder got it, negative if not known> <the name of that holder>]
--   2                  the owner does not have the lock that is to be extended or adopted
--   -<error>
--
-- The first write for a lock decides: Redis does not roll back, so everything that may be
-- refused is checked before anything is written.

--- @include "includes/time.lua"
--- @include "includes/refusal.lua"
--- @include "acquire_fast.lua"
--- @constants
--- @include "includes/lock.lua"
--- @include "includes/tombstone.lua"
--- @include "includes/holders.lua"
--- @include "includes/queue.lua"
--- @include "includes/each.lua"

local n = (#KEYS - 1) / 3

local function granted_line(before, token, queue)
  return '1 ' .. before .. ' ' .. token .. ' ' .. redis.call('EXISTS', queue)
end

-- extend handles the mode of that name.
local function extend(lock, queue, value, owner, ttl)
  if not value or not holds(value, owner) then
    return '2'
  elseif redis.call('EXISTS', queue) == 1 then
    return refusal(redis.call('PTTL', lock), '0')
  end
  local before, err = last_issued()
  if err then
    return '-' .. err
  end
  if redis.call('PTTL', lock) < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  end
  return granted_line(before, issue(before), queue)
end

-- adopt handles the mode that is an owner. It issues no token.
local function adopt(lock, queue, gone, value, owner, ttl, share, from)
  local refused, err = tombstoned(gone, owner)
  if err then
    return '-' .. err
  elseif refused then
    return '2'
  elseif share == '' then
    if value and holds(value, from) then
      local left = redis.call('PTTL', lock)
      value = owner .. string.sub(value, #from + 1)
      redis.call('SET', lock, value, 'PX', math.max(left, ttl))
      add_tombstone(gone, from)
    elseif not value or not holds(value, owner) then
      return '2'
    elseif redis.call('PTTL', lock) < tonumber(ttl) then
      redis.call('PEXPIRE', lock, ttl)
    end
  else
    local ends = not value and redis.call('ZSCORE', lock, member(share, from))
    if ends then
      redis.call('ZADD', lock, ends, member(share, owner))
      redis.call('ZREM', lock, member(share, from))
      add_tombstone(gone, from)
    elseif value or not redis.call('ZSCORE', lock, member(share, owner)) then
      return '2'
    end
    add_holder(lock, share, owner, ttl)
    expire_with_last(lock)
  end
  return granted_line('0', '1', queue)
end

-- repeat_exclusive answers an owner that has the lock: it repeats an attempt, or claims the
-- lock that was granted to it. A late attempt never shortens the lease. The token of a plain
-- attempt is not known here, so its owner gets a new one.
local function repeat_exclusive(lock, queue, value, owner, ttl, entry, before)
  -- First a command that Redis does not refuse when it is out of memory.
  redis.call('ZREM', queue, entry)
  local left = redis.call('PTTL', lock)
  if left < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  end
  if taken(value) then
    local token = issue(before)
    redis.call('SET', lock, owner .. ' ' .. token, 'PX', math.max(left, ttl))
    return granted_line(before, token, queue)
  end
  local token = string.sub(value, #owner + 2)
  return granted_line(string.format('%016.0f', token - 1), token, queue)
end

local function attempt(i)
  local lock, queue, gone = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, ttl, mode, share = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2], ARGV[4 * i + 3]
  local entry = entry_of(owner, share)

  local kind, value, err = holders(lock, gone)
  if err then
    return '-' .. err
  elseif mode == 'extend' then
    return extend(lock, queue, value, owner, ttl)
  elseif mode ~= 'try' and mode ~= 'enqueue' then
    return adopt(lock, queue, gone, value, owner, ttl, share, mode)
  elseif kind == 'x' and mode == 'try' and not holds(value, owner) then
    return refusal(redis.call('PTTL', lock), '0', value)
  end
  local waiting = redis.pcall('ZCARD', queue)
  local refused, bad_gone = tombstoned(gone, owner)
  local before, bad_clock = last_issued()
  err = type(waiting) == 'table' and waiting.err or bad_gone or bad_clock
  if err then
    return '-' .. err
  end

  local tokens
  local mine = false
  if kind == 'x' and share == '' and holds(value, owner) then
    if waiting == 0 or not taken(value) then
      return repeat_exclusive(lock, queue, value, owner, ttl, entry, before)
    end
    -- A plain attempt does not see the queue before it takes the lock. Its owner does not
    -- know yet that it has it.
    redis.call('DEL', lock)
    kind, value = nil, nil
  end
  if kind == string.sub(share, 1, 1) and redis.call('ZSCORE', lock, member(share, owner)) then
    mine = true
    redis.call('PEXPIRE', lock, ttl) -- first, as above; expire_with_last corrects it
  end
  if refused and not mine then
    return '-GONE this owner has released the lock'
  end

  local messages = {}
  if kind ~= 'x' then
    local first = head(queue)
    if mine or (not first or first == entry) and admits(lock, kind, share) then
      if first == entry or mine then
        redis.call('ZREM', queue, entry)
      end
      tokens = { before, issue(before) }
      if share == '' then
        redis.call('SET', lock, owner .. ' ' .. tokens[2], 'PX', ttl)
        kind = 'x'
      else
        add_holder(lock, share, owner, ttl)
        kind = string.sub(share, 1, 1)
      end
    end
    if kind ~= 'x' then
      -- It may be the turn of this owner or of other waiters: the message to the first of
      -- them was lost, or a holder has died. An owner that has the lock also grants it to
      -- waiters that may join.
      local own
      messages, kind, own = grant_next(lock, queue, kind, nil, entry)
      if own then
        tokens = own
        if share ~= '' then
          add_holder(lock, share, owner, ttl)
        end
      end
      if tokens and share ~= '' then
        expire_with_last(lock)
      end
    end
  end

  local line
  if tokens then
    line = granted_line(tokens[1], tokens[2], queue)
  else
    if mode == 'enqueue' then
      enqueue(queue, entry)
    end
    line = refusal(time_left(lock, kind, share, mode), before, value)
  end
  publish(queue, messages)
  return line
end

return each(n, answers, attempt)
