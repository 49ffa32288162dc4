-- Takes some owners out of the sharers of their locks, or out of the queues: behind
-- sharing.lua, lib.lua, sharers.lua and pass.lua.
--
-- ARGV has for each lock its owner, 1 if an attempt of that may still be on its way,
-- the last token that was minted for it, and what it wanted: see sharers.lua. The
-- answers are those of release.lua.

local function give_back(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, doubt, minted, wants = ARGV[4 * i], ARGV[4 * i + 1] == '1', ARGV[4 * i + 2], ARGV[4 * i + 3]

  local kind -- of the sharers, if there are; x if one has the lock alone
  local current = read(lock)
  if type(current) == 'table' then
    local err
    kind, err = sharers(lock, current.err)
    if err and string.sub(err, 1, 9) ~= 'WRONGTYPE' then
      return '-' .. err
    elseif err then
      kind = 'x' -- a value of a foreign type belongs to another
    end
  elseif current then
    kind = 'x'
  end

  -- First what Redis never refuses for want of memory.
  local mine = kind and kind ~= 'x' and redis.call('ZREM', lock, member(wants, owner)) == 1
  if not mine then
    redis.call('ZREM', queue, ARGV[1] .. ':' .. owner .. ' ' .. wants)
  elseif redis.call('EXISTS', lock) == 1 then
    keep(lock)
  else
    kind = nil
  end

  -- A fence that cannot be read is left alone, as in release.lua.
  local first, last, holder, released, buried = fence(fence_key)
  -- Those behind the lone "-" have released.
  local again = first and is_buried(string.match(buried, ' %- .*$') or '', owner)
  if first and (mine or doubt) then
    if mine then
      -- The counter was lost while the lock was held: the holder brings it back,
      -- unless one with a later token did.
      local token = tonumber(minted)
      if token > last and token < 9007199254740991 then
        first, last, holder = token, token, owner
      end
      buried = bury(buried, owner, time(), true)
    end
    if doubt then
      buried = bury(buried, owner, time(), false)
    end
    store(fence_key, first, last, holder, released, buried)
  end

  -- Also who had nothing may have kept others out: at the head of the queue.
  if kind ~= 'x' then
    tell((pass(lock, queue, kind, owner)))
  end

  if mine or again then
    return '1'
  end
  return kind and '0' or '2'
end

for i = 1, n do
  answers[i] = give_back(i)
end
return table.concat(answers, '\n')
