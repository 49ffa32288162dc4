-- The record of a lock: a hash that expires, as Redisson's RLock and RReadWriteLock have it.
-- The fields are the holders: "<uuid of the client>:<number of the thread>", for a writer
-- followed by ":write", or "<owner>:0" for a holder of this package. The value is how often
-- it holds the lock. The field mode is "read" or "write"; RLock has none.

-- failed returns the text of an error, or nil.
local function failed(reply)
  return type(reply) == 'table' and reply.err or nil
end

local function wrong_type(err)
  return string.sub(err, 1, 9) == 'WRONGTYPE'
end

-- is_lock reports whether the hash is a lock for certain: it expires, and each field is a
-- holder.
local function is_lock(lock)
  if redis.call('PTTL', lock) < 0 then
    return false
  end
  for _, field in ipairs(redis.call('HKEYS', lock)) do
    if field ~= 'mode' and not string.find(field, '^%x+%-%x+%-%x+%-%x+%-%x+[^:]*:%-?%d+$')
      and not string.find(field, '^%x+%-%x+%-%x+%-%x+%-%x+:%-?%d+:write$') then
      return false
    end
  end
  return true
end
