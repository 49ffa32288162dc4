-- The rest of release.lua: locks that others wait for, or that are not the
-- owner's any more.

local function give_back(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, doubt, minted = ARGV[3 * i + 1], ARGV[3 * i + 2] == '1', ARGV[3 * i + 3]

  local current = read(lock, values[i])
  local kind -- of the sharers, if there are
  if type(current) == 'table' then
    local err
    kind, err = sharers(lock, current.err)
    if err and string.sub(err, 1, 9) ~= 'WRONGTYPE' then
      return '-' .. err
    end
    current = (kind or err) and '' -- nobody's name; a value of a foreign type belongs to another
  end
  local mine = current == owner

  -- First what Redis never refuses for want of memory.
  if mine then
    redis.call('DEL', lock)
  else
    redis.call('ZREM', queue, ARGV[1] .. ':' .. owner)
  end

  -- A fence that cannot be read is left alone: nobody can acquire over it, but it
  -- must not keep those who hold the lock from giving it back.
  local first, last, holder, released, buried = fence(fence_key, values[n + i])
  local again = first and released == owner
  if first and (mine or doubt) then
    if mine then
      released = owner
      if last == 0 then
        -- The counter was lost while the lock was held: the holder brings it back.
        local token = tonumber(minted)
        if token < 9007199254740991 then
          first, last = token, token
        end
      end
    end
    if doubt then
      buried = bury(buried, owner, time(), false)
    end
    store(fence_key, first, last, holder, released, buried)
  end

  -- Also a release that comes too late may find the key free with others waiting:
  -- then it is the one who looks, so it helps. And where sharers are, one who leaves
  -- the queue may have kept others from joining them.
  if mine or not current or kind then
    tell((pass(lock, queue, kind, owner)))
  end

  if mine or again then
    return '1'
  end
  return current and '0' or '2'
end

for _, i in ipairs(rest) do
  answers[i] = give_back(i)
end
return table.concat(answers, '\n')
