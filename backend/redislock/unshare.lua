-- Gives back some shared locks, or places in their queues. It follows after preamble.lua,
-- lib.lua, shared.lua and grant_next.lua.
--
-- KEYS: n locks, their n fences, their n queues.
-- ARGV: the inbox of the caller, the claim window in milliseconds, the prefix of inboxes;
--   then for each lock: the owner, 1 if an attempt of the owner is in doubt, the last token
--   that was issued to the owner, and the share: see shared.lua.
--
-- Returns a line for each lock, as release.lua.

local function release(i)
  local lock, fence_key, queue = KEYS[i], KEYS[n + i], KEYS[2 * n + i]
  local owner, in_doubt, last_token, share = ARGV[4 * i], ARGV[4 * i + 1] == '1', ARGV[4 * i + 2], ARGV[4 * i + 3]

  local kind -- of the holders; x if there is an exclusive one
  local current = read(lock)
  if type(current) == 'table' then
    local err
    kind, err = shared_kind(lock, current.err)
    if err and string.sub(err, 1, 9) ~= 'WRONGTYPE' then
      return '-' .. err
    elseif err then
      kind = 'x' -- a value of a foreign type belongs to another
    end
  elseif current then
    kind = 'x'
  end

  -- First a command that Redis does not refuse when it is out of memory.
  local mine = kind and kind ~= 'x' and redis.call('ZREM', lock, member(share, owner)) == 1
  if not mine then
    redis.call('ZREM', queue, ARGV[1] .. ':' .. owner .. ' ' .. share)
  elseif redis.call('EXISTS', lock) == 1 then
    expire_with_last(lock)
  else
    kind = nil
  end

  -- A fence that cannot be parsed stays as it is, as in release_rest.lua.
  local first, last, holder, released, tombstones = fence(fence_key)
  -- The list behind the lone "-" has the owners that released a shared lock.
  local repeated = first and is_tombstoned(string.match(tombstones, ' %- .*$') or '', owner)
  if first and (mine or in_doubt) then
    if mine then
      -- The counter was lost while the lock was held. The holder restores it, unless
      -- another holder with a later token did.
      local token = tonumber(last_token)
      if token > last and token < 9007199254740991 then
        first, last, holder = token, token, owner
      end
      tombstones = add_tombstone(tombstones, owner, time(), true)
    end
    if in_doubt then
      tombstones = add_tombstone(tombstones, owner, time(), false)
    end
    store(fence_key, first, last, holder, released, tombstones)
  end

  -- An owner that did not have the lock may have been at the head of the queue and kept
  -- others from joining.
  if kind ~= 'x' then
    publish((grant_next(lock, queue, kind, owner)))
  end

  if mine or repeated then
    return '1'
  end
  return kind and '0' or '2'
end

for i = 1, n do
  answers[i] = release(i)
end
return table.concat(answers, '\n')
