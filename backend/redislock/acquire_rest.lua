-- The rest of acquire.lua: locks that are held, passed on, or waited for.

at = now

local function attempt(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, ttl, want, how = ARGV[4 * i], ARGV[4 * i + 1], ARGV[4 * i + 2], ARGV[4 * i + 3]
  local entry = ARGV[1] .. ':' .. owner

  local current = read(lock, values[i])
  local kind -- of the sharers, if there are
  if type(current) == 'table' then
    local err
    kind, err = sharers(lock, current.err)
    if err then
      return '-' .. err -- a foreign type: nothing of ours
    end
    current = kind and '' -- nobody's name
  end
  if how == 'p' then
    if current ~= owner then
      return '2'
    elseif redis.call('EXISTS', queue) == 1 then
      return refusal(redis.call('PTTL', lock))
    end
  elseif current and current ~= owner and how == 't' and not kind then
    return refusal(redis.call('PTTL', lock), current, values[n + i])
  end

  local first, last, holder, released, buried = fence(fence_key, values[n + i])
  if not first then
    return '-' .. last
  end

  local granted
  local messages = {}
  if current == owner and redis.call('PEXPIRE', lock, ttl) == 1 then
    if how == 'p' then
      first, last = mint(fence_key, last, want, owner, released, buried)
      return granted_line(first, last, queue)
    end
    -- A repeat of what was granted, or the claim of what a release passed on.
    redis.call('ZREM', queue, entry)
    granted = true
  elseif how == 'p' then
    return '2'
  else
    -- The owner has released: this attempt was overtaken on its way, and what it
    -- took would be left to nobody.
    if released == owner or is_buried(buried, owner) then
      return '-GONE this owner has released the lock'
    end
    if kind then
      -- Sharers have it. Some may have gone without a word, and others come in.
      messages, kind = pass(lock, queue, kind)
    elseif not current or current == owner then
      local first_entry = head(queue)
      if not first_entry or first_entry == entry then
        redis.call('SET', lock, owner, 'PX', ttl)
        if first_entry then
          redis.call('ZREM', queue, entry)
        end
        granted = true
      else
        -- Free, but others came first, and the message that should have woken
        -- their first was lost or its holder died: help it.
        messages, kind = pass(lock, queue)
      end
    end
  end

  if granted then
    if holder ~= owner then -- a repeat has its tokens already
      first, last = mint(fence_key, last, want, owner, released, buried)
    end
    return granted_line(first, last, queue)
  end

  if how == 'q' then
    enqueue(queue, entry)
  end
  local ms = left(lock, kind, '', how)
  tell(messages)
  return refusal(ms, not kind and current, values[n + i])
end

for _, i in ipairs(rest) do
  answers[i] = attempt(i)
end
return table.concat(answers, '\n')
