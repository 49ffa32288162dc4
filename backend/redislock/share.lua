-- One attempt each to become one of the sharers of some locks: behind sharing.lua,
-- lib.lua, sharers.lua, pass.lua and mint.lua.
--
-- ARGV has for each lock its owner, the time to live, how many tokens are wanted,
-- how (t, try; q, try or queue), and what is wanted: see sharers.lua. The answers
-- are those of acquire.lua.

local function attempt(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, ttl, want = ARGV[5 * i - 1], ARGV[5 * i], ARGV[5 * i + 1]
  local how, wants = ARGV[5 * i + 2], ARGV[5 * i + 3]
  local entry = ARGV[1] .. ':' .. owner .. ' ' .. wants

  local kind -- of the sharers, if there are; x if one has the lock alone
  local current = read(lock)
  if type(current) == 'table' then
    local err
    kind, err = sharers(lock, current.err)
    if err then
      return '-' .. err -- a foreign type: nothing of ours
    end
  elseif current then
    kind = 'x'
    if how == 't' then
      return refusal(left(lock, kind, wants, how), current, redis.pcall('GET', fence_key))
    end
  end

  local first, last, holder, released, buried = fence(fence_key)
  if not first then
    return '-' .. last
  end

  local messages, granted = {}, false
  if kind == string.sub(wants, 1, 1) and redis.call('ZSCORE', lock, member(wants, owner)) then
    -- A repeat of what was granted, or the claim of what was passed on. First what
    -- Redis never refuses for want of memory.
    redis.call('PEXPIRE', lock, ttl)
    redis.call('ZREM', queue, entry)
    granted = true
  elseif released == owner or is_buried(buried, owner) then
    -- This attempt was overtaken on its way, as in acquire.lua.
    return '-GONE this owner has released the lock'
  elseif kind ~= 'x' then
    granted = not head(queue) and admits(lock, kind, wants)
  end
  if granted then
    join(lock, wants, owner, ttl)
    kind = string.sub(wants, 1, 1)
  end
  if kind ~= 'x' then
    -- It may be its turn, or that of others. Also who is in helps: those who wait
    -- may come in beside it.
    local inside
    messages, kind, inside = pass(lock, queue, kind, nil, entry)
    if inside then
      join(lock, wants, owner, ttl)
      granted = true
    end
  end

  if granted then
    keep(lock)
    -- The fence knows the tokens of one owner. Who repeats after another has got in
    -- gets new ones; they are its own as well, and they rise.
    if holder ~= owner then
      first, last = mint(fence_key, last, want, owner, released, buried)
    end
    local line = granted_line(first, last, queue)
    tell(messages)
    return line
  end

  if how == 'q' then
    enqueue(queue, entry)
  end
  local ms = left(lock, kind, wants, how)
  local line = refusal(ms, current, redis.pcall('GET', fence_key))
  tell(messages)
  return line
end

for i = 1, n do
  answers[i] = attempt(i)
end
return table.concat(answers, '\n')
