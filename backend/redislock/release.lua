-- Gives the lock back, or gives up the place in its queue.
--
-- Returns 1 if this owner had the lock (or this is a repeat), 0 if another has
-- it, 2 if nobody had.

local owner, inbox, doubt = ARGV[1], ARGV[2], ARGV[3] == '1'
local minted, claim, prefix = ARGV[4], ARGV[5], ARGV[6]

local current = redis.pcall('GET', KEYS[1])
if type(current) == 'table' then
  return current -- a foreign type: nothing of ours
end
local mine = current == owner

-- The first write is one that Redis never refuses for want of memory, and what
-- follows it is not refused either: a full server can still be left.
if mine then
  redis.call('DEL', KEYS[1])
else
  redis.call('ZREM', KEYS[3], inbox .. ':' .. owner)
end

-- A fence that cannot be read is left alone: nobody can acquire over it, but it
-- must not keep those who hold the lock from giving it back.
local first, last, holder, released, buried = fence()
local again = first and released == owner
if first and (mine or doubt) then
  if mine then
    released = owner
    if last == 0 then
      -- The counter was lost while the lock was held: the holder brings it back.
      local n = tonumber(minted)
      if n < 9007199254740991 then
        first, last = n, n
      end
    end
  end
  if doubt then
    -- Bury the owner, last, and with it at most fifteen others: more would make
    -- the fence long for nothing.
    local owners = {}
    for o in string.gmatch(string.gsub(buried, '^ %d+', ''), '%S+') do
      if o ~= owner then
        owners[#owners + 1] = o
      end
    end
    owners[#owners + 1] = owner
    buried = string.format(' %.0f %s', micros(), table.concat(owners, ' ', math.max(1, #owners - 15)))
  end
  store(first, last, holder, released, buried)
end

-- Also a release that comes too late may find the key free with others waiting:
-- then it is the one who looks, so it helps.
if mine or not current then
  local channel, granted = grant(claim, prefix, owner)
  if granted then
    redis.call('PUBLISH', channel, granted)
  end
end

if mine or again then
  return 1
end
return current and 0 or 2
