-- The rest of release.lua, which describes KEYS, ARGV and the reply: locks that others wait
-- for, or that their owners do not have any more.

local function release(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, in_doubt, last_token = ARGV[3 * i + 1], ARGV[3 * i + 2] == '1', ARGV[3 * i + 3]

  local current = read(lock, values[i])
  local kind -- of the holders, if the lock is shared
  if type(current) == 'table' then
    local err
    kind, err = shared_kind(lock, current.err)
    if err and string.sub(err, 1, 9) ~= 'WRONGTYPE' then
      return '-' .. err
    end
    current = (kind or err) and '' -- not an owner; a value of a foreign type belongs to another
  end
  local mine = current == owner

  -- First a command that Redis does not refuse when it is out of memory.
  if mine then
    redis.call('DEL', lock)
  else
    redis.call('ZREM', queue, ARGV[1] .. ':' .. owner)
  end

  -- A fence that cannot be parsed stays as it is. It prevents every acquisition, but it
  -- must not prevent releases.
  local first, last, holder, released, tombstones = fence(fence_key, values[n + i])
  local repeated = first and released == owner
  if first and (mine or in_doubt) then
    if mine then
      released = owner
      if last == 0 then
        -- The counter was lost while the lock was held. The holder restores it.
        local token = tonumber(last_token)
        if token < 9007199254740991 then
          first, last = token, token
        end
      end
    end
    if in_doubt then
      tombstones = add_tombstone(tombstones, owner, time(), false)
    end
    store(fence_key, first, last, holder, released, tombstones)
  end

  -- If the key is free, others may wait for it, even if this release comes too late. If the
  -- lock is shared, an owner that leaves the queue may have kept others from joining.
  if mine or not current or kind then
    publish((grant_next(lock, queue, kind, owner)))
  end

  if mine or repeated then
    return '1'
  end
  return current and '0' or '2'
end

for _, i in ipairs(rest) do
  answers[i] = release(i)
end
return table.concat(answers, '\n')
