-- The rest of acquire.lua, which describes KEYS, ARGV and the reply: locks that are held,
-- that were granted to a waiter, or that others wait for.

at = now

local function attempt(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, ttl, tokens, mode = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2], ARGV[4 * i + 3]
  local entry = ARGV[1] .. ':' .. owner

  local current = read(lock, values[i])
  local kind -- of the holders, if the lock is shared
  if type(current) == 'table' then
    local err
    kind, err = shared_kind(lock, current.err)
    if err then
      return '-' .. err -- a value of a foreign type
    end
    current = kind and '' -- not an owner
  end
  if mode == 'extend' then
    if current ~= owner then
      return '2'
    elseif redis.call('EXISTS', queue) == 1 then
      return refusal(redis.call('PTTL', lock))
    end
  elseif current and current ~= owner and mode == 'try' and not kind then
    return refusal(redis.call('PTTL', lock), current, values[n + i])
  end

  local first, last, holder, released, tombstones = fence(fence_key, values[n + i])
  if not first then
    return '-' .. last
  end

  local granted
  local messages = {}
  if current == owner and redis.call('PEXPIRE', lock, ttl) == 1 then
    if mode == 'extend' then
      first, last = mint(fence_key, last, tokens, owner, released, tombstones)
      return granted_line(first, last, queue)
    end
    -- The owner repeats an attempt, or claims the lock that was granted to it.
    redis.call('ZREM', queue, entry)
    granted = true
  elseif mode == 'extend' then
    return '2'
  else
    -- The owner's release has overtaken this attempt. If it took the lock, no caller
    -- would have it.
    if released == owner or is_tombstoned(tombstones, owner) then
      return '-GONE this owner has released the lock'
    end
    if kind then
      -- The lock is shared. Some holders may have expired, so waiters may come in.
      messages, kind = grant_next(lock, queue, kind)
    elseif not current or current == owner then
      local first_entry = head(queue)
      if not first_entry or first_entry == entry then
        redis.call('SET', lock, owner, 'PX', ttl)
        if first_entry then
          redis.call('ZREM', queue, entry)
        end
        granted = true
      else
        -- The lock is free, but others wait. The message to the first of them was lost,
        -- or the holder has died.
        messages, kind = grant_next(lock, queue)
      end
    end
  end

  if granted then
    if holder ~= owner then -- a repeated attempt already has tokens
      first, last = mint(fence_key, last, tokens, owner, released, tombstones)
    end
    return granted_line(first, last, queue)
  end

  if mode == 'enqueue' then
    enqueue(queue, entry)
  end
  local ms = time_left(lock, kind, '', mode)
  publish(messages)
  return refusal(ms, not kind and current, values[n + i])
end

for _, i in ipairs(rest) do
  answers[i] = attempt(i)
end
return table.concat(answers, '\n')
